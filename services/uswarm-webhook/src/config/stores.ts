import { ConfigError, secret } from '@uswarm/service-kit';
import { z } from 'zod';

/** A variable that is passed through to the pods. */
export interface PassedOn {
  name: string;
  /** Absent for a secret value, which pods read from a Secret. */
  value?: string;
}

export interface Database {
  host: string;
  port: number;
  database: string;
  user: string;
  password: string;
  sslMode: 'disable' | 'require' | 'verify-ca' | 'verify-full';
}

const PLAIN_URL = 'needs a URL with http or https and without credentials';
/** Rejects a password in a value that is readable in the pod template. */
export const plainUrl = z.url({ protocol: /^https?$/, error: PLAIN_URL }).refine((text) => {
  const url = URL.parse(text);
  return url !== null && url.username === '' && url.password === '';
}, PLAIN_URL);

const text = z.string().min(1);
const NO_PORT = 'needs a port number';
/** Validated, but kept as text: pods get exactly this value. */
const portText = z
  .string()
  .regex(/^\d{1,5}$/, NO_PORT)
  .refine((digits) => Number(digits) >= 1 && Number(digits) <= 65_535, NO_PORT);

/** `host:port`, or a redis URL, which may contain a password. */
const redisAddress = z.string().regex(/^(rediss?:\/\/)?[^\s/]+(\/\d+)?$/, 'needs host:port or a redis:// URL');

export const storeVariables = {
  SVC_DATABASE_HOST: text.optional(),
  SVC_DATABASE_PORT: portText.optional(),
  SVC_DATABASE_NAME: text.optional(),
  SVC_DATABASE_USER: text.optional(),
  SVC_DATABASE_PASSWORD: secret(text.optional()),
  SVC_DATABASE_SSLMODE: z
    .enum(['disable', 'require', 'verify-ca', 'verify-full'], 'needs disable, require, verify-ca or verify-full')
    .optional(),
  SVC_REDIS_ADDR: secret(redisAddress.optional()),
  SVC_SPACES_ENDPOINT: plainUrl.optional(),
  SVC_SPACES_REGION: text.optional(),
  SVC_SPACES_BUCKET: text.optional(),
  SVC_SPACES_KEY: secret(text.optional()),
  SVC_SPACES_SECRET: secret(text.optional()),
};
type StoreValues = z.output<z.ZodObject<typeof storeVariables>>;

const GROUPS = ['SVC_DATABASE_', 'SVC_SPACES_'] as const;
const SECRETS: ReadonlySet<string> = new Set(['SVC_DATABASE_PASSWORD', 'SVC_SPACES_KEY', 'SVC_SPACES_SECRET']);

/** @throws ConfigError with the missing variables in an incomplete group */
function requireWholeGroups(values: StoreValues): void {
  for (const group of GROUPS) {
    const names = Object.keys(storeVariables).filter((name) => name.startsWith(group));
    const missing = names.filter((name) => values[name as keyof StoreValues] === undefined);
    if (missing.length > 0 && missing.length < names.length) {
      throw new ConfigError(`${group}* is incomplete: ${missing.join(', ')} missing`);
    }
  }
}

/** In a fixed order, because variable order is part of the pod template. */
function passedOn(values: StoreValues): PassedOn[] {
  return (Object.keys(storeVariables) as (keyof StoreValues)[]).flatMap((name) => {
    const value = values[name];
    if (value === undefined) return [];
    const isSecret = SECRETS.has(name) || (name === 'SVC_REDIS_ADDR' && value.includes('@'));
    return [isSecret ? { name } : { name, value }];
  });
}

function database(values: StoreValues): Database | undefined {
  const { SVC_DATABASE_HOST: host, SVC_DATABASE_NAME: name, SVC_DATABASE_USER: user } = values;
  const { SVC_DATABASE_PASSWORD: password, SVC_DATABASE_SSLMODE: sslMode } = values;
  if (!host || !name || !user || !password || !sslMode) return undefined;
  return { host, port: Number(values.SVC_DATABASE_PORT), database: name, user, password, sslMode };
}

/** @throws ConfigError */
export function readStores(values: StoreValues): { stores: readonly PassedOn[]; database: Database | undefined } {
  requireWholeGroups(values);
  return { stores: passedOn(values), database: database(values) };
}
