import { z } from 'zod';
import { DURABLE_EVENTS } from '../enums.js';
import { pagination } from './message.js';
import { Id, Timestamp } from './primitives.js';

/** The event names of the realtime channel. */
const WebhookEvent = z.enum(DURABLE_EVENTS);

const WebhookState = z.enum(['enabled', 'paused', 'disabled']);

export const WebhookFailure = z
  .enum(['status', 'timeout', 'unreachable', 'private_address', 'secret_unreadable'])
  .meta({
    id: 'WebhookFailure',
    description: 'Why an attempt failed.',
  });
export type WebhookFailure = z.output<typeof WebhookFailure>;

const DisabledReason = z.enum(['failing', 'gone']).meta({
  id: 'WebhookDisabledReason',
  description: 'Why the server has disabled a webhook.',
});

const events = z.array(WebhookEvent);

export const Webhook = z
  .strictObject({
    id: Id.meta({ description: 'Identifies the webhook in the other routes.' }),
    url: z.string().meta({ description: 'Receives the events, as POST requests.' }),
    description: z.string().meta({ description: "The user's note; empty if there is none." }),
    events: events.meta({ description: 'Only these events are sent; empty: all, also future ones.' }),
    state: WebhookState.meta({
      description:
        '`paused` by the user, `disabled` by the server. After either, sending continues where it stopped once the webhook is enabled.',
    }),
    disabled_reason: DisabledReason.nullable().meta({
      description:
        '`failing`: no attempt succeeded for three days. `gone`: the receiver answered 410. Null: not disabled.',
    }),
    failing_since: Timestamp.nullable().meta({
      description: 'First failed attempt of the event that is being retried; null if the last attempt succeeded.',
    }),
    previous_secret_expires_at: Timestamp.nullable().meta({
      description:
        'Until then, requests are also signed with a secret from before the last rotation; null without one.',
    }),
    created_at: Timestamp.meta({ description: 'Events since then are sent.' }),
  })
  .meta({ id: 'Webhook', description: 'An address that receives the events of a workspace.' });
export type Webhook = z.output<typeof Webhook>;

const secret = z.string().meta({
  description: 'Key of the signatures (Standard Webhooks): `whsec_` and base64. It is not shown again.',
});

export const WebhookWithSecret = z
  .strictObject({ ...Webhook.shape, secret })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook with its new secret.' });
export type WebhookWithSecret = z.output<typeof WebhookWithSecret>;

export const WebhookAttempt = z
  .strictObject({
    at: Timestamp.meta({ description: 'When the request began.' }),
    duration_ms: z.int().nonnegative().meta({ description: 'Milliseconds until the response, or until the failure.' }),
    status: z.int().nullable().meta({ description: 'HTTP status of the response; null without one.' }),
    response: z.string().meta({ description: 'The first kilobyte of the response; empty without one.' }),
    failure: WebhookFailure.nullable().meta({
      description:
        '`status`: not 2xx. `unreachable`: no connection, or it broke. `private_address`: the name does not lead to the internet. `secret_unreadable`: the server has lost the key of the secret; replace the secret. Null: delivered.',
    }),
  })
  .meta({ id: 'WebhookAttempt', description: 'A request to a webhook, and its outcome.' });
export type WebhookAttempt = z.output<typeof WebhookAttempt>;

export const WebhookDelivery = z
  .strictObject({
    id: Id.meta({ description: 'Sent as `webhook-id`, the same in each attempt.' }),
    event: WebhookEvent.meta({ description: 'The event name.' }),
    seq: z.int().positive().meta({ description: "The event's sequence in the workspace." }),
    occurred_at: Timestamp.meta({ description: 'When the event was stored.' }),
    state: z.enum(['pending', 'delivered']).meta({ description: '`pending` until an attempt succeeds.' }),
    attempts: z.int().nonnegative().meta({
      description:
        'Number of attempts since the event was stored, its webhook was enabled, or it was to be sent again.',
    }),
    next_attempt_at: Timestamp.nullable().meta({
      description: 'When it is tried again; null if it is delivered, or waits for events before it.',
    }),
    last_attempt: WebhookAttempt.nullable().meta({ description: 'The last attempt; null before the first.' }),
  })
  .meta({ id: 'WebhookDelivery', description: 'An event for a webhook.' });
export type WebhookDelivery = z.output<typeof WebhookDelivery>;

export const WebhookDeliveryPage = z
  .strictObject({
    data: z.array(WebhookDelivery).meta({ description: 'Deliveries, last event first.' }),
    pagination,
  })
  .meta({ id: 'WebhookDeliveryPage', description: 'A page of webhook deliveries.' });
export type WebhookDeliveryPage = z.output<typeof WebhookDeliveryPage>;

export const WebhookReplay = z
  .strictObject({ deliveries: z.int().nonnegative().meta({ description: 'Number of events that are sent again.' }) })
  .meta({ id: 'WebhookReplay', description: 'What is sent again.' });

const url = z.string().min(1).max(1_000).meta({
  description: 'An https address on port 443 of a server on the internet, up to 1,000 characters.',
});
const description = z.string().max(200).meta({ description: 'A note, up to 200 characters.' });
const chosenEvents = events.max(DURABLE_EVENTS.length).meta({ description: 'Only these events; empty: all.' });

export const CreateWebhookBody = z
  .object({ url, description: description.optional(), events: chosenEvents.optional() })
  .meta({ id: 'CreateWebhookBody', description: 'A new webhook.' });

export const UpdateWebhookBody = z
  .object({
    url: url.optional(),
    description: description.optional(),
    events: chosenEvents.optional(),
    state: z.enum(['enabled', 'paused']).optional().meta({
      description: '`enabled` also ends `disabled`, and tries the waiting event immediately.',
    }),
  })
  .meta({ id: 'UpdateWebhookBody', description: 'What changes; the rest stays.' });

/** Hours that the previous secret stays valid by default. */
const OVERLAP_HOURS = 24;

export const RotateWebhookSecretBody = z
  .object({
    overlap_hours: z
      .int()
      .min(0)
      .max(7 * 24)
      .default(OVERLAP_HOURS)
      .meta({
        description:
          'Hours that the previous secret signs too, up to 168. It keeps this time if the secret is replaced again, unless with 0.',
      }),
  })
  .meta({ id: 'RotateWebhookSecretBody', description: 'How the secret changes.' });

export const ReplayWebhookBody = z
  .object({ since: Timestamp.meta({ description: 'Events since this time that were delivered are sent again.' }) })
  .meta({ id: 'ReplayWebhookBody', description: 'What to send again.' });
