/** Registers an element under a name, unless the name is taken. A subclass, as a class can have only one name. */
export function define(name: string, element: CustomElementConstructor, registry: CustomElementRegistry): void {
  if (!registry.get(name)) registry.define(name, class extends element {});
}
