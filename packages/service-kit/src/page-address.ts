/** Characters of a page's address. Servers accept about as many. */
export const MAX_PAGE_ADDRESS = 2_000;

/**
 * The address that is requested for a page: http or https, without credentials. The part after `#` is left out, because it
 * is not sent. Undefined for other text. The orchestrator judges the same address that the tool server requests.
 */
export function pageAddress(text: string): URL | undefined {
  if (text.length > MAX_PAGE_ADDRESS) return undefined;
  const url = URL.parse(text.trim());
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  if (url.hostname === '' || url.username !== '' || url.password !== '') return undefined;
  url.hash = '';
  return url;
}
