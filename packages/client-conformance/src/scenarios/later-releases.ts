import type { Scenario } from '../scenario.js';
import type { Stage } from '../stage.js';
import { laterEvent, unknownEvent } from '../server/checks.js';
import { id, positionOf, textContent } from '../server/world.js';

/** Delivers the events of `change` as a later release could send them. */
function later(stage: Stage, change: () => void, extend: (payload: Payload) => void): void {
  for (const event of stage.server.withheld(change)) stage.deliver(laterEvent(event, extend));
}

interface Payload {
  [field: string]: unknown;
  message: Record<string, unknown> & { content: Record<string, unknown>; error: Record<string, unknown> | null };
}

/** Clients outlive servers: what a later release adds is shown as far as possible, and breaks nothing. */
export const LATER_RELEASES: readonly Scenario[] = [
  {
    name: 'unknown-event',
    shows:
      'Events with an unknown name are ignored, also those of the log, and those that contain something like a message.',
    why: 'Events may be added without a new version of the API (S1).',
    async run(stage) {
      await stage.start();
      const { workspaceId: workspace_id, conversationId: conversation_id } = stage.world;
      const suggested = {
        id: id(9_999),
        conversation_id,
        role: 'agent',
        content: textContent('You could ask for tea'),
      };
      stage.world.skip(1);
      stage.deliver(
        unknownEvent('suggestion.offered', {
          workspace_id,
          message: { ...suggested, position: positionOf(1), rev: 1 },
        }),
        unknownEvent('poll.opened', { workspace_id, seq: stage.world.seq, poll: { question: 'Tea?' } }),
        unknownEvent('weather', { degrees: 21, message: 'not a message', message_id: 7 }),
      );
      await stage.settles();
    },
  },
  {
    name: 'unknown-content',
    shows: 'A message with content of an unknown type shows its `text`; what follows is shown as usual.',
    why: 'Types of content may be added: an `UnknownContent` has an optional text.',
    async run(stage) {
      await stage.start();
      later(
        stage,
        () => void stage.world.agent('Vote now'),
        ({ message: { content } }) => Object.assign(content, { type: 'poll', options: [{ id: 1 }] }),
      );
      await stage.settles('Vote now');
    },
  },
  {
    name: 'unknown-content-without-text',
    shows: 'A message with content of an unknown type and without a text breaks nothing.',
    why: 'Types of content may be added: an `UnknownContent` has an optional text.',
    async run(stage) {
      await stage.start();
      later(
        stage,
        () => void stage.world.agent({ type: 'loading' }),
        ({ message: { content } }) => Object.assign(content, { type: 'map', latitude: 52.5, longitude: 13.4 }),
      );
      await stage.settles({ role: 'agent' });
    },
  },
  {
    name: 'unknown-fields',
    shows: 'Unknown fields in events and messages are ignored.',
    why: 'Fields may be added without a new version of the API (S1).',
    async run(stage) {
      await stage.start();
      const extend = (payload: Payload) => {
        payload['priority'] = { level: 3 };
        Object.assign(payload.message, { reactions: [{ emoji: '🍵', count: 2 }], thread: null });
        Object.assign(payload.message.content, { language: 'en', spans: [] });
      };
      later(stage, () => void stage.world.agent('one'), extend);
      await stage.settles('one');
    },
  },
  {
    name: 'unknown-values',
    shows: 'A message with an unknown status and an unknown role is shown.',
    why: 'Lists of values may grow: an unknown value counts as none.',
    async run(stage) {
      await stage.start();
      const extend = ({ message }: Payload) => Object.assign(message, { status: 'paused', role: 'robot' });
      later(stage, () => void stage.world.agent('one'), extend);
      await stage.settles('one');
    },
  },
  {
    name: 'unknown-message-error',
    shows: 'An answer that failed with an unknown code is shown as failed.',
    why: 'More codes may be added to the errors of messages.',
    async run(stage) {
      await stage.start();
      const reply = stage.world.begin();
      later(
        stage,
        () => void stage.world.finish(reply, 'Green t', 'incomplete'),
        ({ message, error }) => {
          const errors = [message?.error, error as Record<string, unknown> | null];
          for (const each of errors) if (each) each['code'] = 'tea_ran_out';
        },
      );
      await stage.settles({ text: 'Green t', status: 'failed' });
    },
  },
];
