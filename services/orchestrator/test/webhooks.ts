import { randomUUID } from 'node:crypto';
import type { Webhook } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Home, TestOrchestrator, TestUser } from './test-orchestrator.js';

/** Creates a paused webhook with a delivered event. */
export async function createWebhook(
  { database }: TestOrchestrator,
  user: TestUser,
  { workspace, conversationId }: Home,
): Promise<{ id: string; deliveryId: string }> {
  const body = { url: 'https://hooks.example.com/uswarm' };
  const { id } = (await user.post<{ data: Webhook }>(`${workspace}/webhooks`, body, 201)).body.data;
  // Otherwise its job changes rows while tests compare them.
  await user.patch(`${workspace}/webhooks/${id}`, { state: 'paused' }, 200);
  const deliveryId = randomUUID();
  await sql`
    INSERT INTO webhook_deliveries (id, webhook_id, seq, type, subject_id, occurred_at, state)
    VALUES (${deliveryId}, ${id}, 1, 'conversation.new', ${conversationId}, now(), 'delivered')`.execute(database);
  return { id, deliveryId };
}
