/**
 * The same file from the page's origin. API links have the public address, for which the page can have another name,
 * such as `localhost`. The content security policy allows pictures only from the page's origin, and browsers open files
 * from other origins instead of saving them.
 */
export function ownUrl(url: string): string {
  const { pathname, search } = new URL(url, 'http://page');
  return pathname + search;
}
