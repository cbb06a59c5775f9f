const LONGEST = 40;

/**
 * A new agent's slug, which a user can type after the `@`. All letters stay, Latin ones without accents.
 *
 * @param taken the workspace's slugs, also of deleted agents, whose mentions must not reach another agent
 */
export function slugOf(name: string, taken: ReadonlySet<string>): string {
  const words = name
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/(\p{Script=Latin})\p{M}+/gu, '$1')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-');
  const base = trimmed([...words].slice(0, LONGEST).join('')) || 'agent';
  if (!taken.has(base)) return base;
  for (let number = 2; ; number += 1) {
    const slug = `${base}-${number}`;
    if (!taken.has(slug)) return slug;
  }
}

const trimmed = (slug: string): string => slug.replaceAll(/^-+|-+$/g, '');
