import { storable } from '@uswarm/service-kit';
import { z } from 'zod';
import { oddAsAbsent } from '../../platform/http/foreign-answer.js';
import { visibleLine, visibleText } from '../../platform/http/visible-text.js';

/** OpenID Connect allows 255 ASCII characters. A Postgres index cannot hold much more than this. */
const MAX_SUBJECT_BYTES = 1_024;

/** True if the text can be stored as an identity's subject. */
export const isSubject = (text: string): boolean =>
  text !== '' && text === storable(text) && Buffer.byteLength(text) <= MAX_SUBJECT_BYTES;

/** The last second of the year 9999, after which dates have no common text form. */
const LAST_SECOND = 253_402_300_799;
const numericDate = z.number().min(0).max(LAST_SECOND);

/** As in `UserPatch`. */
const NAME_CHARACTERS = 100;
const EMAIL_CHARACTERS = 320;
const URL_CHARACTERS = 2_048;

/** Half of a character at the end would become a replacement character. */
const cut = (text: string, characters: number): string =>
  visibleText(
    visibleLine(text)
      .slice(0, characters)
      .replace(/[\ud800-\udbff]$/, ''),
  );

/** Users choose their name at the identity provider, which may accept other characters than profiles do. */
export const profileName = (text: string): string => cut(text, NAME_CHARACTERS);
export const profileEmail = (text: string): string => cut(text, EMAIL_CHARACTERS);

/**
 * Apps load this URL in its normal form: other parsers accept fewer characters. @returns '' if the URL may not be
 * stored
 */
function pictureUrl(text: string): string {
  const url = text === storable(text) ? URL.parse(text) : null;
  return url?.protocol === 'https:' && url.href.length <= URL_CHARACTERS ? url.href : '';
}

/** A personal claim only fills the profile: an odd one must not keep the user out. */
const profile = (read: (text: string) => string) => oddAsAbsent(z.string()).transform((text) => read(text ?? ''));

/** Only the claims that are read. A valid signature does not prove their types. */
export const IdTokenClaims = z.object({
  sub: z.string().refine(isSubject),
  aud: z.union([z.string(), z.array(z.string())]),
  azp: z.string().nullish(),
  exp: numericDate,
  iat: numericDate.nullish(),
  /** Some providers send a text, which does not prove when the user signed in. */
  auth_time: oddAsAbsent(numericDate),
  /** Marks logout tokens and other security events, also without a `typ`. */
  events: z.null().optional(),
  email: profile(profileEmail),
  name: profile(profileName),
  given_name: profile(profileName),
  family_name: profile(profileName),
  picture: profile(pictureUrl),
});
export type IdTokenClaims = z.output<typeof IdTokenClaims>;

/**
 * Providers send no type, or `JWT`. Any other type marks a token for another purpose (RFC 8725, section 3.11), such as
 * an access token (`at+jwt`, RFC 9068).
 */
export const IdTokenHeader = z.object({
  typ: z
    .string()
    .regex(/^(application\/)?jwt$/i)
    .nullish(),
});
