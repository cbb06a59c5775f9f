import { createECDH, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { generateCallKeys, parseJson } from '@uswarm/service-kit';
import { LocalError, writePrivateFile } from '@uswarm/dev-servers';
import { z } from 'zod';

const secrets = z.object({
  /** `<id>:<secret>`, for service tokens on the internal API. */
  internal_api_key: z.string().min(1),
  /** `<id>:<secret>`, for the tokens of `uswarmctl`. */
  admin_api_key: z.string().min(1),
  /** `<id>:<secret>`, for runtimes' tokens for MCP servers. */
  mcp_signing_key: z.string().min(1),
  /** `<id>:<secret>`, for runtimes' tokens for the model gateway. */
  model_token_key: z.string().min(1),
  /** `<id>:<secret>`, with which the model gateway reports model calls. */
  model_calls_key: z.string().min(1),
  /** PEM: the Ed25519 key that signs calls to runtimes. */
  call_private_key: z.string().min(1),
  /** Signs page cursors. */
  cursor_key: z.string().min(1),
  /** Key for the hash that remains of a deleted user. */
  identity_key: z.string().min(1),
  /** `<id>:<32 bytes as base64>`; encrypts integration tokens. */
  integration_token_keys: z.string().min(1),
  /** VAPID private key, by which browser push services know this installation. */
  web_push_private_key: z.string().min(1),
});

/** Service secrets, created once per data folder. */
export type LocalSecrets = z.infer<typeof secrets>;

const random = (): string => randomBytes(32).toString('base64url');

function vapidPrivateKey(): string {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  // Without leading zeros it can be shorter.
  return Buffer.from(pair.getPrivateKey('hex').padStart(64, '0'), 'hex').toString('base64url');
}

function generate(): LocalSecrets {
  return {
    internal_api_key: `local:${random()}`,
    admin_api_key: `local:${random()}`,
    mcp_signing_key: `local:${random()}`,
    model_token_key: `local:${random()}`,
    model_calls_key: `local:${random()}`,
    call_private_key: generateCallKeys().privateKey,
    cursor_key: random(),
    identity_key: random(),
    integration_token_keys: `local:${randomBytes(32).toString('base64')}`,
    web_push_private_key: vapidPrivateKey(),
  };
}

/** Reads or creates the file and adds missing secrets. @throws LocalError */
export function loadSecrets(file: string): LocalSecrets {
  if (!existsSync(file)) return save(file, generate());
  const known = secrets.partial().safeParse(parseJson(readFileSync(file, 'utf8')));
  if (!known.success) {
    throw new LocalError(`${file} cannot be read; put back a copy, or remove it and sign in again everywhere.`);
  }
  const complete = secrets.safeParse(known.data);
  return complete.success ? complete.data : save(file, secrets.parse({ ...generate(), ...known.data }));
}

function save(file: string, value: LocalSecrets): LocalSecrets {
  writePrivateFile(file, `${JSON.stringify(value, undefined, 2)}\n`);
  return value;
}
