/** Opens a dialog, unless one is open: a second press may come while the code of the first dialog is loaded. */
export function openDialog(dialog: HTMLDialogElement): void {
  if (document.querySelector("dialog[open]")) return;
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
}
