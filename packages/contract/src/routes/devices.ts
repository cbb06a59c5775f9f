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
    body: z.object({ push_token: z.string().min(1).max(4_096) }).meta({ id: 'PushTokenBody' }),
    responses: ok(z.strictObject({ success: z.boolean() }).meta({ id: 'PushTokenAnswer' })),
    example: { body: { token: { push_token: 'fcm:dVf3-example' } }, answer: { success: true } },
  }),
] as const;
