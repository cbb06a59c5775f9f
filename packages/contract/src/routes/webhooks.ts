import { z } from 'zod';
import { data } from '../resources/primitives.js';
import {
  CreateWebhookBody,
  ReplayWebhookBody,
  RotateWebhookSecretBody,
  UpdateWebhookBody,
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookDeliveryPage,
  WebhookReplay,
  WebhookWithSecret,
} from '../resources/webhook.js';
import { accepted, created, defineRoute, id, noContent, ok } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE, MORNING } from './examples.js';
import { pageQuery } from './pages.js';

const PATH = '/v1/workspaces/{workspaceId}/webhooks';
const ONE = `${PATH}/{id}` as const;

const inWorkspace = { workspaceId: id('workspace_not_found') };
const ofWebhook = { ...inWorkspace, id: id('webhook_not_found') };
const exampleParams = { workspaceId: EXAMPLE.workspaceId, id: EXAMPLE.webhookId };

const webhook: Webhook = {
  id: EXAMPLE.webhookId,
  url: 'https://hooks.example.com/uswarm',
  description: 'Ticket system',
  events: ['message.done'],
  state: 'enabled',
  disabled_reason: null,
  failing_since: null,
  previous_secret_expires_at: null,
  created_at: MORNING,
};
const withSecret: WebhookWithSecret = { ...webhook, secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' };

const attempt: WebhookAttempt = { at: MORNING, duration_ms: 84, status: 204, response: '', failure: null };
const delivery: WebhookDelivery = {
  id: EXAMPLE.webhookDeliveryId,
  event: 'message.done',
  seq: 42,
  occurred_at: MORNING,
  state: 'delivered',
  attempts: 1,
  next_attempt_at: null,
  last_attempt: attempt,
};

export const webhookRoutes = [
  defineRoute({
    operationId: 'listWebhooks',
    method: 'get',
    path: PATH,
    auth: 'user',
    scope: 'read',
    tag: 'webhooks',
    summary: 'List webhooks',
    description: 'Oldest first.',
    extension: true,
    params: inWorkspace,
    responses: ok(data(z.array(Webhook))),
    errors: ['webhooks_not_enabled'],
    example: { params: { workspaceId: EXAMPLE.workspaceId }, answer: { data: [webhook] } },
  }),
  defineRoute({
    operationId: 'createWebhook',
    method: 'post',
    path: PATH,
    auth: 'user',
    scope: 'write',
    tag: 'webhooks',
    summary: 'Create a webhook',
    description:
      'Each event is sent as `{"type", "timestamp", "data"}`, in which `type` and `data` are name and payload as on the realtime ' +
      'channel, and signed as Standard Webhooks describes. The secret is in this response only.',
    extension: true,
    params: inWorkspace,
    body: CreateWebhookBody,
    responses: created(data(WebhookWithSecret)),
    errors: ['webhooks_not_enabled', 'webhook_limit_reached'],
    example: {
      params: { workspaceId: EXAMPLE.workspaceId },
      body: { tickets: { url: webhook.url, description: webhook.description, events: webhook.events } },
      answer: { data: withSecret },
    },
  }),
  defineRoute({
    operationId: 'updateWebhook',
    method: 'patch',
    path: ONE,
    auth: 'user',
    scope: 'write',
    tag: 'webhooks',
    summary: 'Change, pause or enable a webhook',
    description: 'A webhook that is paused or disabled continues with the events since then, as far as they are kept.',
    extension: true,
    params: ofWebhook,
    body: UpdateWebhookBody,
    responses: ok(data(Webhook)),
    errors: ['webhooks_not_enabled'],
    example: { params: exampleParams, body: { enable: { state: 'enabled' } }, answer: { data: webhook } },
  }),
  defineRoute({
    operationId: 'deleteWebhook',
    method: 'delete',
    path: ONE,
    auth: 'user',
    scope: 'write',
    tag: 'webhooks',
    summary: 'Delete a webhook',
    description: 'Events that wait are not sent. A request that has begun may still arrive.',
    extension: true,
    params: ofWebhook,
    responses: noContent,
    example: { params: exampleParams },
  }),
  defineRoute({
    operationId: 'rotateWebhookSecret',
    method: 'post',
    path: `${ONE}/secret`,
    auth: 'user',
    scope: 'write',
    tag: 'webhooks',
    summary: 'Replace the secret of a webhook',
    description:
      'For `overlap_hours`, requests have a signature of the new secret and one of the previous secret. A repeated request ends no secret early, unless more than ten would sign. With 0, only the new secret signs.',
    extension: true,
    params: ofWebhook,
    body: RotateWebhookSecretBody,
    responses: ok(data(WebhookWithSecret)),
    errors: ['webhooks_not_enabled'],
    example: {
      params: exampleParams,
      body: { day: { overlap_hours: 24 } },
      answer: { data: { ...withSecret, previous_secret_expires_at: '2026-11-21T08:30:00.000Z' } },
    },
  }),
  defineRoute({
    operationId: 'testWebhook',
    method: 'post',
    path: `${ONE}/test`,
    auth: 'user',
    scope: 'write',
    tag: 'webhooks',
    summary: 'Send a test request, and wait for its outcome',
    description: 'Sends `webhook.test` once. It is not part of the deliveries, and changes no state.',
    extension: true,
    params: ofWebhook,
    responses: ok(data(WebhookAttempt)),
    errors: ['webhooks_not_enabled'],
    example: { params: exampleParams, answer: { data: attempt } },
  }),
  defineRoute({
    operationId: 'listWebhookDeliveries',
    method: 'get',
    path: `${ONE}/deliveries`,
    auth: 'user',
    scope: 'read',
    tag: 'webhooks',
    summary: 'List the deliveries of a webhook, last event first',
    description:
      'Delivered events stay in the list for seven days. Pages are listed forward only: `prev_scroll_id` is always null.',
    extension: true,
    params: ofWebhook,
    query: pageQuery.omit({ direction: true }).extend({
      state: WebhookDelivery.shape.state.optional().meta({ description: 'Only deliveries in this state.' }),
    }),
    responses: ok(WebhookDeliveryPage),
    errors: ['webhooks_not_enabled', 'cursor_invalid'],
    example: {
      params: exampleParams,
      query: { limit: 20 },
      answer: { data: [delivery], pagination: examples.lastPage },
    },
  }),
  defineRoute({
    operationId: 'replayWebhookDelivery',
    method: 'post',
    path: `${ONE}/deliveries/{deliveryId}/replay`,
    auth: 'user',
    scope: 'write',
    tag: 'webhooks',
    summary: 'Send a delivered event again',
    description:
      'With the same `webhook-id`, and the current state of what the event is about. An event that waits is tried immediately.',
    extension: true,
    params: { ...ofWebhook, deliveryId: id('webhook_delivery_not_found') },
    responses: accepted(data(WebhookDelivery)),
    errors: ['webhooks_not_enabled'],
    example: {
      params: { ...exampleParams, deliveryId: EXAMPLE.webhookDeliveryId },
      answer: { data: { ...delivery, state: 'pending', next_attempt_at: MORNING } },
    },
  }),
  defineRoute({
    operationId: 'replayWebhook',
    method: 'post',
    path: `${ONE}/replay`,
    auth: 'user',
    scope: 'write',
    tag: 'webhooks',
    summary: 'Send the delivered events since a time again',
    description: 'In order, before events that wait now.',
    extension: true,
    params: ofWebhook,
    body: ReplayWebhookBody,
    responses: accepted(data(WebhookReplay)),
    errors: ['webhooks_not_enabled'],
    example: { params: exampleParams, body: { today: { since: MORNING } }, answer: { data: { deliveries: 3 } } },
  }),
] as const;
