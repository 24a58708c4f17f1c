// What the type checker is told about the page beyond its modules: which element a selector finds is
// the template's affair, and its properties are used without a cast.
interface ParentNode {
  querySelector(selectors: string): any;
}
