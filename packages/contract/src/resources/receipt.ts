import { z } from 'zod';
import { Pagination } from './message.js';
import { Id, Timestamp } from './primitives.js';

export const RECEIPT_STATUSES = ['sent', 'succeeded', 'failed', 'unknown'] as const;
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

const approval = z
  .strictObject({
    user_id: Id.meta({ description: 'The user who approved the call.' }),
    approved_at: Timestamp,
    title: z.string().nullable().meta({
      description: 'The title of the card, exactly as it was shown. Null for the effect `own`.',
    }),
    description: z.string().nullable().meta({
      description: 'The text of the card, exactly as it was shown. Null for the effect `own`.',
    }),
  })
  .nullable()
  .meta({ description: 'Null if the tool did not ask.' });

/** What the signature of a receipt contains. A change of these fields needs another version. */
const signed = {
  version: z.int().min(1).max(2).meta({ description: '2 for the effect `own`, else 1.' }),
  id: Id,
  user_id: Id.meta({ description: 'The owner of the receipt.' }),
  workspace_id: Id,
  conversation_id: Id,
  agent_id: Id,
  turn_id: Id,
  call_id: z.string().meta({ description: 'Unique within the turn.' }),
  tool: z.string(),
  effect: z.enum(['own', 'keyed', 'once']).meta({
    description:
      '`own`: the call changed data of uswarm, in the transaction that stores the receipt. `keyed`: the other system recognizes a repeated request by `key`. `once`: the request is never repeated.',
  }),
  arguments: z.record(z.string(), z.unknown()).nullable().meta({
    description:
      'The exact arguments of the call. Null for the effect `own`: the owner can delete what an agent has written.',
  }),
  arguments_sha256: z
    .string()
    .regex(/^[\da-f]{64}$/)
    .meta({ description: 'SHA-256 of the arguments as canonical JSON (RFC 8785).' }),
  key: z
    .string()
    .meta({ description: 'What identifies the request in the other system. The id of the call for the effect `own`.' }),
  approval,
  sent_at: Timestamp,
  finished_at: Timestamp.nullable().meta({ description: 'Null while the status is `sent`.' }),
  status: z.enum(RECEIPT_STATUSES).meta({
    description: '`sent` is not final. `unknown`: the request left, and nothing shows whether it changed anything.',
  }),
  outcome: z.string().nullable().meta({ description: 'What the model was told; null while the status is `sent`.' }),
};

/** What is signed. */
export const SignedReceipt = z.strictObject(signed);
export type SignedReceipt = z.output<typeof SignedReceipt>;

/** A call of an agent that changed something, or may have. */
export const Receipt = z
  .strictObject({
    ...signed,
    jws: z.string().nullable().meta({
      description:
        'The signature: a compact JWS (RFC 7515, Ed25519) whose payload has the other fields. Null while the status is `sent`.',
    }),
  })
  .meta({ id: 'Receipt' });
export type Receipt = z.output<typeof Receipt>;

export const ReceiptPage = z
  .strictObject({ data: z.array(Receipt), pagination: Pagination })
  .meta({ id: 'ReceiptPage' });
export type ReceiptPage = z.output<typeof ReceiptPage>;

const ReceiptKey = z
  .strictObject({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: z.string().regex(/^[\w-]{43}$/),
    kid: z.string().meta({ description: 'The thumbprint of the key (RFC 7638).' }),
    alg: z.literal('EdDSA'),
    use: z.literal('sig'),
  })
  .meta({ id: 'ReceiptKey' });

/** A JSON Web Key Set (RFC 7517). */
export const ReceiptKeySet = z.strictObject({ keys: z.array(ReceiptKey) }).meta({ id: 'ReceiptKeySet' });
export type ReceiptKeySet = z.output<typeof ReceiptKeySet>;
