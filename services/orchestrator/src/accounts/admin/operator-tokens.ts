import { ApiError } from '@uswarm/contract';
import type { JWTHeaderParameters, JWTPayload } from 'jose';
import { z } from 'zod';
import { IdTokenClaims } from '../auth/id-token-claims.js';
import {
  createIssuerTokens,
  type IssuerAccess,
  IssuerSettings,
  type IssuerTokens,
  requireClient,
  type TokenIssuer,
  tokenIssuer,
} from '../auth/issuer-tokens.js';
import { ADMIN_RIGHTS, type AdminRight, type Operator } from './operator-rights.js';

const Rule = z.strictObject({
  /** A claim, or the path of one, such as `realm_access.roles`. */
  claim: z.string().min(1),
  /** The claim is this text, or a list that contains it. */
  value: z.string().min(1),
  rights: z.array(z.enum(ADMIN_RIGHTS)).min(1),
});
type Rule = z.output<typeof Rule>;

/** `[{"issuer": "https://…", "audience": "…", "rules": [{"claim": "groups", "value": "sre", "rights": ["show"]}]}]` */
export const OperatorIssuers = z
  .array(IssuerSettings.extend({ rules: z.array(Rule).min(1) }))
  // Only the first of two would be used.
  .refine(
    (issuers) => new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length,
    'an issuer is listed twice',
  );
type OperatorIssuers = z.output<typeof OperatorIssuers>;

interface OperatorIssuer extends TokenIssuer {
  rules: readonly Rule[];
}

/** Command lines present either an ID token, or an access token for the audience (RFC 9068). */
const OperatorHeader = z.object({
  typ: z
    .string()
    .regex(/^(application\/)?(jwt|at\+jwt)$/i)
    .nullish(),
});
const OperatorClaims = IdTokenClaims.pick({ sub: true, aud: true, azp: true, exp: true, iat: true, events: true });

/** Verifies the tokens with which people sign in as operators. */
export function createOperatorTokens(settings: OperatorIssuers, access: IssuerAccess): IssuerTokens<Operator> {
  const issuers = settings.map((issuer) => ({ ...tokenIssuer(issuer.issuer, issuer), rules: issuer.rules }));
  return createIssuerTokens({ ...access, issuers, read: readOperator });
}

function readOperator(issuer: OperatorIssuer, header: JWTHeaderParameters, payload: JWTPayload): Operator {
  const { success, data: claims, error } = OperatorClaims.safeParse(payload);
  if (!success || !OperatorHeader.safeParse(header).success) throw new ApiError('token_invalid', { cause: error });
  requireClient(issuer, claims);
  return { actor: personName(issuer.issuer, claims.sub), rights: rightsOf(issuer.rules, payload) };
}

/** An issuer's URL has no fragment, so the name is unique. */
const personName = (issuer: string, subject: string): string => `${issuer}#${subject}`;

/** True for a name that only a token of an issuer may have: a key holder can sign any name. */
export const isPersonName = (name: string): boolean => /^https?:/i.test(name);

/** Every matching rule gives its rights. */
export function rightsOf(rules: readonly Rule[], claims: Readonly<Record<string, unknown>>): AdminRight[] {
  const matching = rules.filter(({ claim, value }) => [claimAt(claims, claim)].flat().includes(value));
  return [...new Set(matching.flatMap(({ rights }) => rights))];
}

/** A claim name can itself contain dots, such as `https://example.com/groups`. */
function claimAt(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined;
    found = (found as Record<string, unknown>)[part];
  }
  return found;
}
