import { describe, expect, it } from '@jest/globals';
import {
  AGENT,
  agentStatus,
  chunk,
  CONVERSATION,
  EPOCH,
  MESSAGE,
  messageDone,
  messageNew,
  WORKSPACE,
} from '../../../test/envelopes.js';
import { Feed } from './feed.js';
import { HubState, type WorkspaceSnapshot } from './hub-state.js';

const OTHER_AGENT = '01890000-0000-7000-8000-0000000000a2';

function createHub(): HubState {
  return new HubState(WORKSPACE, { ringEvents: 4, ringBytes: 10_000 });
}

/** Applies what the orchestrator has now. */
function restore(hub: HubState, lastSeq: number, fields: Partial<WorkspaceSnapshot> = {}): void {
  hub.restore({ last_seq: lastSeq, epoch: EPOCH, agents: [], streams: [], ...fields }, hub.moment, 0);
}

const feedAt = (hub: HubState, cursor: number): Feed => new Feed(hub, { cursor, announceAt: undefined, received: [] });

/** @returns the payloads of all frames with this event that the feed has now */
function pull(feed: Feed, event: string): unknown[] {
  const payloads: unknown[] = [];
  for (let step = feed.next(0); step !== undefined && step !== 'read'; step = feed.next(0)) {
    if (step.frame.event === event) payloads.push((JSON.parse(step.frame.text.slice('2/v1,'.length)) as unknown[])[1]);
  }
  return payloads;
}

const RUNNING = {
  message_id: MESSAGE,
  conversation_id: CONVERSATION,
  agent_id: AGENT,
  generation: 1,
  chunk_seq: 1,
  text: 'text',
};

describe('a hub that is behind a snapshot', () => {
  it('sends the status of each agent once its clients have the events before it', () => {
    const hub = createHub();
    restore(hub, 1);
    hub.receive(agentStatus(1, 'writing', 60_000), 0);
    const feed = feedAt(hub, 1);
    // It ends the first agent's status, which may be sent earlier.
    restore(hub, 2, { agents: [{ agent_id: OTHER_AGENT, status: 'pending', until_ms: 60_000 }] });
    const early = pull(feed, 'agent.status');
    hub.receive(messageNew(2), 0);
    expect([...early, ...pull(feed, 'agent.status')]).toMatchObject([
      { agent_id: OTHER_AGENT, status: 'pending' },
      { agent_id: AGENT, status: 'online' },
    ]);
  });

  it('sends no text to a client at the snapshot, because the text may have ended before it', () => {
    const hub = createHub();
    restore(hub, 1);
    hub.receive(chunk(1, { offset: 0 }), 0);
    // The orchestrator has committed the text's end.
    restore(hub, 2);
    const feed = feedAt(hub, 2);
    expect({ state: hub.textsAt(2), chunks: pull(feed, 'message.chunk') }).toEqual({ state: [], chunks: [] });
    hub.receive(messageDone(2), 0);
    expect(pull(feed, 'message.chunk')).toEqual([]);
  });

  it('sends a text that still runs to a client at the snapshot when it has caught up', () => {
    const hub = createHub();
    restore(hub, 1);
    hub.receive(chunk(1, { offset: 0 }), 0);
    restore(hub, 2, { streams: [RUNNING] });
    const feed = feedAt(hub, 2);
    expect(pull(feed, 'message.chunk')).toEqual([]);
    hub.receive(messageNew(2), 0);
    expect(hub.textsAt(2)).toMatchObject([{ text: 'text' }]);
    expect(pull(feed, 'message.chunk')).toMatchObject([{ chunk: 'text' }]);
  });
});

describe.each([
  ['the beginning of a text', chunk(1, { offset: 0 })],
  ['a later part of a text', chunk(1, { chunk_seq: 5, offset: 40 })],
])('a hub that gets %s before its first snapshot', (_part, part) => {
  it('ends the text if it has got its end as well', () => {
    const hub = createHub();
    const { moment } = hub;
    hub.receive(part, 0);
    hub.receive(messageDone(2), 0);
    hub.restore({ last_seq: 2, epoch: EPOCH, streams: [] }, moment, 0);
    expect({ size: hub.streams.size, incomplete: hub.streams.incomplete }).toEqual({ size: 0, incomplete: false });
  });

  it('ends the text when its end arrives after the snapshot that has it', () => {
    const hub = createHub();
    hub.receive(part, 0);
    restore(hub, 2);
    hub.receive(messageDone(2), 0);
    expect(hub.streams.size).toBe(0);
  });

  it('does not send the text, and forgets it if the orchestrator does not know it', () => {
    const hub = createHub();
    hub.receive(part, 0);
    restore(hub, 2);
    expect(hub.textsAt(2)).toEqual([]);
    for (let n = 0; n < 4; n += 1) restore(hub, 2);
    expect({ size: hub.streams.size, incomplete: hub.streams.incomplete }).toEqual({ size: 0, incomplete: false });
  });

  it('keeps the text if the orchestrator does not tell which texts are running', () => {
    const hub = createHub();
    hub.receive(part, 0);
    for (let n = 0; n < 5; n += 1) restore(hub, 2, { streams: undefined });
    expect(hub.streams.size).toBe(1);
  });
});

describe('a hub before its first snapshot', () => {
  const OTHER_EPOCH = '99';

  it('forgets events of an epoch that the snapshot has replaced', () => {
    const hub = createHub();
    hub.receive({ ...messageNew(6), epoch: OTHER_EPOCH }, 0);
    hub.receive({ ...agentStatus(6, 'writing', 60_000), epoch: OTHER_EPOCH }, 0);
    restore(hub, 5);
    expect(hub.position).toBe(5);
    expect(pull(feedAt(hub, 5), 'agent.status')).toEqual([]);
    hub.receive(messageNew(6), 0);
    expect(pull(feedAt(hub, 5), 'message.new')).toHaveLength(1);
  });

  it('keeps the events after a failover', () => {
    const hub = createHub();
    hub.receive({ ...messageNew(6), epoch: OTHER_EPOCH }, 0);
    hub.receive(messageNew(6), 0);
    restore(hub, 5);
    expect(hub.position).toBe(6);
  });
});
