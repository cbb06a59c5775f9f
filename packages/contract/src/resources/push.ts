import { z } from 'zod';
import { PushService } from '../enums.js';

/** The length of 65 and of 16 bytes as base64url, which some browsers pad. */
const P256DH = /^[\w-]{87}=?$/;
const AUTH = /^[\w-]{22}(?:==)?$/;

export const PushKeys = z
  .object({
    p256dh: z.string().regex(P256DH).meta({ description: 'The public key of the subscription, as base64url.' }),
    auth: z.string().regex(AUTH).meta({ description: 'The authentication secret of the subscription, as base64url.' }),
  })
  .meta({ id: 'PushKeys', description: 'The `keys` of a browser subscription.' });
export type PushKeys = z.output<typeof PushKeys>;

export const PushSettings = z
  .strictObject({
    services: z
      .array(PushService)
      .meta({ description: 'The services that the installation sends with; without one, it sends none.' }),
    vapid_public_key: z.string().nullable().meta({
      description: 'The `applicationServerKey` for browser subscriptions, as base64url; null without `web_push`.',
    }),
    preview: z.boolean().meta({
      description: 'True if notifications contain the name of the agent and the start of the message.',
    }),
  })
  .meta({ id: 'PushSettings', description: 'How the installation sends push notifications.' });
export type PushSettings = z.output<typeof PushSettings>;

export const PushTokenBody = z
  .object({
    push_token: z.string().min(1).max(4_096).meta({
      description:
        'What Firebase Cloud Messaging or Apple returned to the app, or the `endpoint` of the browser subscription; up to 4,096 characters.',
    }),
    service: PushService.optional().meta({
      description: 'The service that the token belongs to. Default: `fcm`.',
      'x-extension': true,
    }),
    keys: PushKeys.optional().meta({ description: 'Required for `web_push`.', 'x-extension': true }),
  })
  .meta({ id: 'PushTokenBody', description: 'Where to send notifications for this device.' });
export type PushTokenBody = z.output<typeof PushTokenBody>;

export const PushTokenAnswer = z
  .strictObject({ success: z.boolean().meta({ description: 'Always true; failures are errors.' }) })
  .meta({ id: 'PushTokenAnswer', description: 'The confirmation that the token is stored.' });
