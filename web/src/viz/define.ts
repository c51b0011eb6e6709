/**
 * Registers an element. Does nothing if the name is already registered. It registers a subclass, because a class can
 * have only one name.
 */
export function define(name: string, element: CustomElementConstructor, registry: CustomElementRegistry): void {
  if (!registry.get(name)) registry.define(name, class extends element {});
}
