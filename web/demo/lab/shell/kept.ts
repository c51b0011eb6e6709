// Texts that this device keeps for the lab. A page in a sandbox has no storage: there nothing is kept.

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function keep(name: string, text: string): void {
  try {
    localStorage.setItem(name, text);
  } catch {
    // the next visit begins anew
  }
}
