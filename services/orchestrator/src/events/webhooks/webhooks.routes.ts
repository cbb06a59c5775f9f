import type { Handler, Handlers } from '../../platform/http/handlers.js';
import type { DeliveryService } from './deliveries.service.js';
import type { WebhookService } from './webhooks.service.js';

const HOUR_MS = 3_600_000;

export function webhookHandlers(service: WebhookService, deliveries: DeliveryService) {
  const listWebhooks: Handler<'listWebhooks'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.list(actor.userId, params.workspaceId) },
  });
  const createWebhook: Handler<'createWebhook'> = async ({ actor, params, body }) => {
    const { url, description = '', events = [] } = body;
    const data = await service.create(actor.userId, params.workspaceId, { url, description, events });
    return { status: 201, body: { data } };
  };
  const updateWebhook: Handler<'updateWebhook'> = async ({ actor, params, body }) => ({
    status: 200,
    body: { data: await service.update({ userId: actor.userId, ...params }, body) },
  });
  const deleteWebhook: Handler<'deleteWebhook'> = async ({ actor, params }) => {
    await service.delete({ userId: actor.userId, ...params });
    return { status: 204 };
  };
  const rotateWebhookSecret: Handler<'rotateWebhookSecret'> = async ({ actor, params, body }) => ({
    status: 200,
    body: { data: await service.rotateSecret({ userId: actor.userId, ...params }, body.overlap_hours * HOUR_MS) },
  });
  const testWebhook: Handler<'testWebhook'> = async ({ actor, params, signal }) => ({
    status: 200,
    body: { data: await service.test({ userId: actor.userId, ...params }, signal) },
  });
  const listWebhookDeliveries: Handler<'listWebhookDeliveries'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await deliveries.list({ userId: actor.userId, ...params }, query),
  });
  const replayWebhookDelivery: Handler<'replayWebhookDelivery'> = async ({ actor, params }) => {
    const { deliveryId, ...path } = params;
    return { status: 202, body: { data: await deliveries.replay({ userId: actor.userId, ...path }, deliveryId) } };
  };
  const replayWebhook: Handler<'replayWebhook'> = async ({ actor, params, body }) => {
    const count = await deliveries.replaySince({ userId: actor.userId, ...params }, new Date(body.since));
    return { status: 202, body: { data: { deliveries: count } } };
  };
  return {
    listWebhooks,
    createWebhook,
    updateWebhook,
    deleteWebhook,
    rotateWebhookSecret,
    testWebhook,
    listWebhookDeliveries,
    replayWebhookDelivery,
    replayWebhook,
  } satisfies Partial<Handlers>;
}
