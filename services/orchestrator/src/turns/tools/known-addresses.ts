import { MAX_PAGE_ADDRESS, pageAddress } from '@uswarm/service-kit';

/** With or without a protocol, as people write addresses. It begins where a word begins, which keeps the time linear. */
const HOST = String.raw`(?<![\p{L}\p{N}._-])(?:https?:\/\/)?(?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]+(?::\d+)?`;
/** In Markdown, a closing parenthesis ends the address; in other texts, it can be a part of it. */
const ADDRESSES = ['()', ''].map(
  (excluded) => new RegExp(`${HOST}(?:[/?][^\\s<>"'\`\\\\|{}[\\]${excluded}]*)?`, 'giu'),
);
/** Ends a sentence rather than an address. */
const TRAILING = '.,;:!?*_~';

/** The sent parts in one spelling, without protocol, `www.` and a slash at the end. */
function addressKey(url: URL): string {
  return `${url.hostname.replace(/^www\./, '')}${url.port === '' ? '' : `:${url.port}`}${url.pathname}${url.search}`.replace(
    /\/$/,
    '',
  );
}

/** An expression for them takes quadratic time for a run that does not end the address. */
function withoutTrailing(address: string): string {
  let end = address.length;
  while (end > 0 && TRAILING.includes(address.charAt(end - 1))) end -= 1;
  return address.slice(0, end);
}

/** The addresses in a text. Pure. */
function addressesIn(text: string): string[] {
  return ADDRESSES.flatMap((pattern) => text.match(pattern) ?? []).flatMap((address) => {
    if (address.length > MAX_PAGE_ADDRESS) return [];
    const written = withoutTrailing(address);
    const url = pageAddress(/^https?:\/\//i.test(written) ? written : `https://${written}`);
    return url === undefined ? [] : [addressKey(url)];
  });
}

/**
 * True if these texts contain the whole address. One with another path, query or host can carry data that an attacker
 * wants. Pure.
 */
export function isKnownAddress(url: URL, texts: readonly string[]): boolean {
  const key = addressKey(url);
  return texts.some((text) => addressesIn(text).includes(key));
}

/** Addresses in a search result, which its engine has chosen, without excerpts; other results as they are. Pure. */
export function addressTexts(tool: 'search' | 'page', result: string): string[] {
  if (tool === 'page') return [result];
  // The excerpts can repeat the query.
  return Array.from(result.matchAll(/"url":"((?:[^"\\]|\\.)*)"/g), ([, address = '']) => address);
}
