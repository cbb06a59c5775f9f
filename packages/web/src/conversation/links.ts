/** Only `https:` and `mailto:` addresses become links. */
export const allowedUrl = (url: string): string => (/^(?:https:|mailto:)/i.test(url) && URL.canParse(url) ? url : '');

/**
 * What a link shows beside its text: the host, or the receiver of an e-mail, unless the text is the address. A text that only contains
 * it, and a user name in it, can look like another host.
 */
export function targetBeside(text: string, href: string): string {
  const { href: address, host, pathname, username } = new URL(href);
  const target = host || pathname;
  const known = [address, address.replace(/^https:\/\//, ''), target].map(withoutSlash);
  return username === '' && known.includes(withoutSlash(text)) ? '' : target;
}

const withoutSlash = (text: string): string => text.replace(/\/$/, '');
