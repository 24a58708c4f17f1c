// Types of the page beyond its modules: the last part of a selector names the element it finds.
type LastPart<S extends string> = S extends `${string} ${infer Rest}` ? LastPart<Rest> : S;
type TagName<S extends string> = S extends `${infer Tag}${"." | "#" | "[" | ":"}${string}` ? TagName<Tag> : S;
type Found<S extends string> = TagName<LastPart<S>> extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[TagName<LastPart<S>>] : HTMLElement;

interface ParentNode {
  querySelector<S extends string>(selectors: S): Found<S> | null;
}
