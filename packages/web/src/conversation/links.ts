export const allowedUrl = (url: string): string => (/^(?:https:|mailto:)/i.test(url) && URL.canParse(url) ? url : '');

/**
 * A link shows its host, or an e-mail's receiver, beside its text, unless the text is the address. A text that merely
 * contains the address, or a user name in it, can look like another host.
 */
export function targetBeside(text: string, href: string): string {
  const { href: address, host, pathname, username } = new URL(href);
  const target = host || pathname;
  const known = [address, address.replace(/^https:\/\//, ''), target].map(withoutSlash);
  return username === '' && known.includes(withoutSlash(text)) ? '' : target;
}

const withoutSlash = (text: string): string => text.replace(/\/$/, '');
