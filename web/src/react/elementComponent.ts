import {
  createElement,
  forwardRef,
  useEffect,
  useImperativeHandle,
  useInsertionEffect,
  useLayoutEffect,
  useRef,
  type ForwardRefExoticComponent,
  type HTMLAttributes,
  type RefAttributes,
} from "react";

import { sameValue } from "./sameValue.js";

/** A custom element of `headwise/viz`, as a component needs it. */
export interface ElementParts {
  /** The component's name in React's messages. */
  readonly name: string;
  readonly tag: string;
  /** Registers the element. */
  readonly define: () => void;
  /** The names of the element's properties, in the order in which they are set. */
  readonly properties: Readonly<Record<string, true>>;
  /** The type of the event that each `on…` property of the component hears. */
  readonly events: Readonly<Record<string, string>>;
}

/** Properties of a component: the element's own, its events, and the attributes that every element has. */
export type ComponentProps<Element, Own> = Own & Omit<HTMLAttributes<Element>, keyof Own | "children">;

/** A component whose `ref` is the element. */
export type ElementComponent<Element, Props> = ForwardRefExoticComponent<Props & RefAttributes<Element>>;

type Values = Readonly<Record<string, unknown>>;

/** An effect before the page is painted. React 18 warns about useLayoutEffect on a server, where no effect runs. */
const useEffectBeforePaint = typeof document === "undefined" ? useEffect : useLayoutEffect;

/**
 * Makes a component of a custom element. It sets the properties itself, each one when its value has changed: React 18
 * knows only attributes, and React 19 too while the element is not registered.
 */
export function elementComponent<Element extends HTMLElement, Props>(
  parts: ElementParts,
): ElementComponent<Element, Props> {
  const { name, tag, define, events } = parts;
  const properties = Object.keys(parts.properties);
  const own = new Set([...properties, ...Object.keys(events)]);

  const Component = (given: Values, ref: React.ForwardedRef<Element>) => {
    const element = useRef<Element>(null);
    const last = useRef<Values>({});
    const handlers = useRef<Values>({});
    const set = useRef<Values>({});
    const attributes = attributesOf(given, own);

    useInsertionEffect(define, []); // before refs are set: they give an element with its methods
    useImperativeHandle(ref, () => element.current!, []);
    useEffectBeforePaint(() => {
      handlers.current = given;
      const values = valuesOf(given);
      setChanged(element.current!, properties, last.current, values);
      last.current = values;
      setAttributes(element.current!, set.current, attributes);
      set.current = attributes;
    });
    useEffectBeforePaint(() => {
      const stop = new AbortController();
      for (const [handler, type] of Object.entries(events))
        element.current!.addEventListener(type, (event) => call(handlers.current[handler], event), stop);
      return () => stop.abort();
    }, []);
    return createElement(tag, { ...attributes, ref: element });
  };
  Component.displayName = name;
  return forwardRef(Component) as ElementComponent<Element, Props>;
}

/** What is set on the element. `tokens` are the tokens of each axis that has none of its own. */
function valuesOf({ tokens, ...given }: Values): Values {
  return { ...given, queryTokens: given["queryTokens"] ?? tokens, keyTokens: given["keyTokens"] ?? tokens };
}

function setChanged(element: HTMLElement, names: readonly string[], last: Values, values: Values): void {
  for (const name of names) if (!sameValue(last[name], values[name])) Reflect.set(element, name, values[name]);
}

/** Attributes that are there or not. React 18 writes `false` as their value on custom elements, which means true. */
const FLAGS: ReadonlySet<string> = new Set(["hidden", "inert", "itemScope", "autoFocus"]);

/** The attributes that React sets. React 18 does not know `className` on custom elements. */
export function attributesOf(given: Values, own: ReadonlySet<string>): Values {
  const isSet = ([name, value]: [string, unknown]) => !own.has(name) && !(value === false && FLAGS.has(name));
  const { className, ...attributes } = Object.fromEntries(Object.entries(given).filter(isSet));
  return className === undefined ? attributes : { ...attributes, class: className };
}

/**
 * React 19 sets the property of a custom element where there is one of that name. Some are no copy of the attribute: one
 * that is removed becomes the text "undefined" (`title`), and the text "no" becomes true (`translate`).
 */
function setAttributes(element: HTMLElement, last: Values, values: Values): void {
  for (const name of Object.keys({ ...last, ...values })) {
    const value = values[name];
    if (value === last[name]) continue;
    if (value === undefined || value === null) element.removeAttribute(name);
    else if (typeof value === "string") element.setAttribute(name, value);
  }
}

function call(handler: unknown, event: Event): void {
  (handler as ((event: Event) => void) | undefined)?.(event);
}
