/**
 * The same file from the origin of the page. The API writes its public address into links, for which the page can have another
 * name, such as `localhost`. The content security policy allows pictures of the page's own origin only, and browsers open files of
 * another origin instead of saving them.
 */
export function ownUrl(url: string): string {
  const { pathname, search } = new URL(url, 'http://page');
  return pathname + search;
}
