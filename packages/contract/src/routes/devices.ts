import { data } from '../resources/primitives.js';
import { PushSettings, PushTokenAnswer, PushTokenBody } from '../resources/push.js';
import { defineRoute, noContent, ok } from './define.js';

export const deviceRoutes = [
  defineRoute({
    operationId: 'setPushToken',
    method: 'post',
    path: '/v1/push-token',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'core',
    summary: 'Store the push-notification token of the device',
    description:
      'A registration token of Firebase Cloud Messaging, a device token of Apple (`apns`), or the subscription of a browser (`web_push`). ' +
      'The device receives a notification for an answer that no device of the user ' +
      'has received after 15 seconds, and for a card that waits for a decision, unless the conversation is muted. Its data has `type` (`answer`, `failure` or ' +
      '`decision`), `workspace_id`, `conversation_id` and `message_id`. A notification with the same `message_id` replaces an earlier one. ' +
      'A message of the type `withdrawal` has `message_ids`, separated by commas: the notifications to remove. Both have `badge`, the number of messages that ' +
      'are unread or wait for a decision.',
    body: PushTokenBody,
    responses: ok(PushTokenAnswer),
    example: {
      body: {
        firebase: { push_token: 'fcm:dVf3-example' },
        browser: {
          push_token: 'https://updates.push.services.mozilla.com/wpush/v2/example',
          service: 'web_push',
          keys: {
            p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
            auth: 'BTBZMqHH6r4Tts7J_aSIgg',
          },
        },
      },
      answer: { success: true },
    },
  }),
  defineRoute({
    operationId: 'deletePushToken',
    method: 'delete',
    path: '/v1/push-token',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'core',
    summary: 'Remove the push-notification token of the device',
    description: 'The device receives no more notifications. Signing out does the same.',
    extension: true,
    responses: noContent,
    example: {},
  }),
  defineRoute({
    operationId: 'getPushSettings',
    method: 'get',
    path: '/v1/push-settings',
    auth: 'user',
    scope: 'read',
    reach: 'any',
    tag: 'core',
    summary: 'Get how push notifications are sent',
    description: 'Subscribe a browser with `vapid_public_key`, and again if it has changed.',
    extension: true,
    responses: ok(data(PushSettings)),
    example: {
      answer: {
        data: {
          services: ['fcm', 'web_push'],
          vapid_public_key: 'BL7ELU24fJTAlH5Kyl8N6BDCac8u8li_U5PIwG963MOvdYs9s7LSzj8x_7v7RFdLZ9Eap50PiiyF5K0TDAis7t0',
          preview: true,
        },
      },
    },
  }),
] as const;
