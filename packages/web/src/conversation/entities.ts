interface TrustedTypes {
  defaultPolicy: unknown;
  createPolicy(name: 'default', rules: { createHTML(html: string): string | null }): unknown;
}

// TypeScript does not know it yet, nor does every browser.
const { trustedTypes: types } = globalThis as { trustedTypes?: TrustedTypes };

/**
 * The parser of Markdown lets the browser decode `&name;`, by means that the content security policy forbids. A name alone cannot become
 * an element; all other HTML stays forbidden.
 */
export function allowEntities(): void {
  if (types && !types.defaultPolicy)
    types.createPolicy('default', { createHTML: (html) => (/^&[a-z\d]+;$/i.test(html) ? html : null) });
}
