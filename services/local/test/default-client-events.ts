import type { MessageData } from '@uswarm/contract';
import { type SeenEvent, streamedText } from '@uswarm/testkit/test-client';

/** The logged events, without events that only raise the position. */
export const durableEvents = (events: readonly SeenEvent[]): { seq: number; event: string }[] =>
  events
    .filter(({ name, payload }) => name !== 'workspace.position' && typeof payload?.['seq'] === 'number')
    .map(({ name, payload }) => ({ seq: Number(payload['seq']), event: name }));

/** The last position that the client has seen; undefined before its first subscribe. */
export function positionOf(events: readonly SeenEvent[], workspaceId: string): number | undefined {
  const subscribed = events.find(({ name }) => name === 'workspace.subscribed')?.payload;
  if (subscribed === undefined) return undefined;
  const seqs = events.map(({ payload }) => payload?.['seq']).filter((seq) => typeof seq === 'number');
  return seqs.at(-1) ?? (subscribed['last_seq'] as Record<string, number>)[workspaceId];
}

/** The only answer's streamed text, which continues from each subscribe's state. */
export function shownText(events: readonly SeenEvent[], workspaceId: string): string {
  const texts = events.flatMap((event): SeenEvent[] => {
    if (event.name === 'message.chunk') return [event];
    if (event.name !== 'workspace.subscribed') return [];
    const state = event.payload['state'] as Record<string, { streams: { text: string }[] }> | undefined;
    const streams = state?.[workspaceId]?.streams ?? [];
    return streams.map((stream) => ({ name: 'message.chunk', payload: { ...stream, chunk: stream.text, offset: 0 } }));
  });
  return streamedText(texts, String(texts[0]?.payload['message_id']));
}

/** The text of each finished answer. */
export function finalTexts(events: readonly SeenEvent[]): unknown[] {
  const done = events.filter(({ name }) => name === 'message.done').map(({ payload }) => payload['message_id']);
  return done.map((id) => {
    const updates = events
      .filter(({ name }) => name === 'message.updated')
      .map(({ payload }) => payload['message'] as MessageData);
    const content = updates.findLast((message) => message.id === id)?.content;
    return content?.type === 'text' ? content.text : content;
  });
}
