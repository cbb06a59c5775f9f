import { z } from 'zod';
import { pagination } from './message.js';
import { Id, Timestamp } from './primitives.js';

export const RECEIPT_STATUSES = ['sent', 'succeeded', 'failed', 'unknown'] as const;
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

const approval = z
  .strictObject({
    user_id: Id.meta({ description: 'The user who approved the call.' }),
    approved_at: Timestamp.meta({ description: 'When the user chose the button.' }),
    title: z.string().nullable().meta({
      description: 'The title of the card, exactly as it was shown. Null for the effect `own`.',
    }),
    description: z.string().nullable().meta({
      description: 'The text of the card, exactly as it was shown. Null for the effect `own`.',
    }),
  })
  .meta({ id: 'ReceiptApproval', description: 'How a user approved a call.' });

/** Signed content. Changes to these fields need another version. */
const signed = {
  version: z.int().min(1).max(2).meta({ description: '2 for the effect `own`, else 1.' }),
  id: Id.meta({ description: 'Identifies the receipt.' }),
  user_id: Id.meta({ description: 'The owner of the receipt.' }),
  workspace_id: Id.meta({ description: 'Where the agent works; it may be deleted by now.' }),
  conversation_id: Id.meta({ description: 'Where the agent was asked; it may be deleted by now.' }),
  agent_id: Id.meta({ description: 'Who made the call.' }),
  turn_id: Id.meta({ description: 'The reply during which the call was made.' }),
  call_id: z.string().meta({ description: 'Unique within the turn.' }),
  tool: z.string().meta({ description: 'What was called, such as `create_calendar_event`.' }),
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
  approval: approval.nullable().meta({ description: 'Who approved the call; null if the tool did not ask.' }),
  sent_at: Timestamp.meta({ description: 'When the request left uswarm.' }),
  finished_at: Timestamp.nullable().meta({ description: 'Null while the status is `sent`.' }),
  status: z.enum(RECEIPT_STATUSES).meta({
    description: '`sent` is not final. `unknown`: the request left, and nothing shows whether it changed anything.',
  }),
  outcome: z.string().nullable().meta({ description: 'What the model was told; null while the status is `sent`.' }),
};

export const SignedReceipt = z.strictObject(signed);
export type SignedReceipt = z.output<typeof SignedReceipt>;

export const Receipt = z
  .strictObject({
    ...signed,
    jws: z.string().nullable().meta({
      description:
        'The signature: a compact JWS (RFC 7515, Ed25519) whose payload has the other fields. Null while the status is `sent`.',
    }),
  })
  .meta({ id: 'Receipt', description: 'A call of an agent that changed something, or may have.' });
export type Receipt = z.output<typeof Receipt>;

export const ReceiptPage = z
  .strictObject({
    data: z.array(Receipt).meta({ description: 'The receipts of this page, newest first.' }),
    pagination,
  })
  .meta({ id: 'ReceiptPage', description: 'A part of the receipts of a user.' });
export type ReceiptPage = z.output<typeof ReceiptPage>;

const ReceiptKey = z
  .strictObject({
    kty: z.literal('OKP').meta({ description: 'An octet key pair (RFC 8037).' }),
    crv: z.literal('Ed25519').meta({ description: 'The curve of the signature algorithm.' }),
    x: z
      .string()
      .regex(/^[\w-]{43}$/)
      .meta({ description: '32 bytes of public key in base64url.' }),
    kid: z.string().meta({ description: 'The thumbprint of the key (RFC 7638).' }),
    alg: z.literal('EdDSA').meta({ description: 'The algorithm in the header of each signature.' }),
    use: z.literal('sig').meta({ description: 'For signatures only.' }),
  })
  .meta({ id: 'ReceiptKey', description: 'A public key that verifies receipts, as JSON Web Key (RFC 7517).' });

export const ReceiptKeySet = z
  .strictObject({
    keys: z.array(ReceiptKey).meta({ description: 'One per key that has ever signed; choose by `kid`.' }),
  })
  .meta({ id: 'ReceiptKeySet', description: 'A JSON Web Key Set (RFC 7517).' });
export type ReceiptKeySet = z.output<typeof ReceiptKeySet>;
