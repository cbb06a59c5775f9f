import { type AdminCall, ApiError } from '@uswarm/contract';
import {
  parseSigningKey,
  parseSigningKeys,
  secretText,
  type SigningKey,
  TokenError,
  verifyAdminToken,
} from '@uswarm/service-kit';
import { z } from 'zod';
import type { IssuerTokens } from '../auth/issuer-tokens.js';
import { ADMIN_RIGHTS, type AdminRight, type Operator, RIGHT_OF } from './operator-rights.js';
import { isPersonName } from './operator-tokens.js';

/** Same key id as `parseSigningKey`, which throws for a short key; short keys are reported separately. */
const keyId = (key: string): string => /^([^:]+):/.exec(key)?.[1] ?? 'default';

/** `[{"operator": "olivia", "key": "<id>:<secret>", "rights": ["show", "ban"]}]`. An operator can have several keys. */
export const OperatorKeys = z
  .array(
    z.strictObject({
      operator: z
        .string()
        .trim()
        .min(1)
        .max(100)
        .refine((name) => !isPersonName(name), 'must not be a URL'),
      key: secretText(32),
      rights: z.array(z.enum(ADMIN_RIGHTS)).min(1),
    }),
  )
  .min(1)
  .refine((keys) => new Set(keys.map(({ key }) => keyId(key))).size === keys.length, 'two keys have the same id');

interface OperatorKey {
  key: SigningKey;
  /** Undefined: the key holder can use any name. */
  operator: string | undefined;
  rights: readonly AdminRight[];
}

export interface Operators {
  /**
   * @returns the operator's name for the audit log
   * @throws ApiError `token_invalid`, also if the token names another operator than the key; `token_expired`,
   *   `operator_not_allowed`, `service_unavailable`
   */
  authenticate(token: string, call: AdminCall): Promise<string>;
}

export interface OperatorSettings {
  ADMIN_API_KEYS?: z.output<typeof OperatorKeys> | undefined;
  /** One shared key with any name and all rights. To be removed in the release after the next. */
  ADMIN_API_KEY?: string | undefined;
  ADMIN_API_KEY_PREVIOUS?: readonly string[];
}

/**
 * @param people undefined if no issuer is configured
 * @returns undefined if neither a key nor an issuer is configured
 */
export function createOperators(
  settings: OperatorSettings,
  people: IssuerTokens<Operator> | undefined,
): Operators | undefined {
  const { ADMIN_API_KEYS = [], ADMIN_API_KEY, ADMIN_API_KEY_PREVIOUS = [] } = settings;
  const keys: OperatorKey[] = ADMIN_API_KEYS.map(({ key, ...rest }) => ({ ...rest, key: parseSigningKey(key) }));
  if (ADMIN_API_KEY !== undefined) {
    const shared = parseSigningKeys(ADMIN_API_KEY, ADMIN_API_KEY_PREVIOUS);
    keys.push(...shared.map((key) => ({ key, operator: undefined, rights: ADMIN_RIGHTS })));
  }
  if (keys.length === 0 && people === undefined) return undefined;
  return {
    async authenticate(token, call) {
      const { actor, rights } = people?.areFrom(token) ? await people.verify(token) : await keyHolder(keys, token);
      if (!rights.includes(RIGHT_OF[call])) throw new ApiError('operator_not_allowed');
      return actor;
    },
  };
}

async function keyHolder(keys: readonly OperatorKey[], token: string): Promise<Operator> {
  const { name, used } = await verify(keys, token);
  const isOther = used.operator !== undefined && used.operator !== name;
  if (isOther || isPersonName(name)) throw new ApiError('token_invalid');
  return { actor: name, rights: used.rights };
}

/** Tries all keys: two operators may use the same key id. */
async function verify(keys: readonly OperatorKey[], token: string): Promise<{ name: string; used: OperatorKey }> {
  let refused: TokenError | undefined;
  for (const used of keys) {
    try {
      return { name: await verifyAdminToken([used.key], token), used };
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      refused = error;
    }
  }
  throw new ApiError('token_invalid', { cause: refused });
}
