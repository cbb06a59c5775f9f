import { z } from 'zod';
import { defineRoute, ok } from './define.js';

export const deviceRoutes = [
  defineRoute({
    operationId: 'setPushToken',
    method: 'post',
    path: '/v1/push-token',
    auth: 'user',
    tag: 'core',
    summary: 'Store the push-notification token of the device',
    description:
      'A registration token of Firebase Cloud Messaging. The device receives a notification for an answer that no device of the user ' +
      'has received after 15 seconds, and for a card that waits for a decision. Its data has `type` (`answer`, `failure` or ' +
      '`decision`), `workspace_id`, `conversation_id` and `message_id`. A notification with the same `message_id` replaces an earlier one.',
    body: z
      .object({
        push_token: z.string().min(1).max(4_096).meta({
          description: 'What Firebase Cloud Messaging returned to the app, up to 4,096 characters.',
        }),
      })
      .meta({ id: 'PushTokenBody', description: 'Where to send notifications for this device.' }),
    responses: ok(
      z
        .strictObject({ success: z.boolean().meta({ description: 'Always true; failures are errors.' }) })
        .meta({ id: 'PushTokenAnswer', description: 'The confirmation that the token is stored.' }),
    ),
    example: { body: { token: { push_token: 'fcm:dVf3-example' } }, answer: { success: true } },
  }),
] as const;
