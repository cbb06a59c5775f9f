interface TrustedTypes {
  defaultPolicy: unknown;
  createPolicy(name: 'default', rules: { createHTML(html: string): string | null }): unknown;
}

// Unknown to TypeScript and to some browsers.
const { trustedTypes: types } = globalThis as { trustedTypes?: TrustedTypes };

/**
 * The Markdown parser lets the browser decode `&name;` in a way that the content security policy forbids. A name alone
 * cannot become an element; all other HTML stays forbidden.
 */
export function allowEntities(): void {
  if (types && !types.defaultPolicy)
    types.createPolicy('default', { createHTML: (html) => (/^&[a-z\d]+;$/i.test(html) ? html : null) });
}
