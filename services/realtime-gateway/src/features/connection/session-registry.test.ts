import { describe, expect, it } from '@jest/globals';
import type { SessionEnd } from '@uswarm/contract';
import { createSessionRegistry, type OpenSession } from './session-registry.js';

const HASH = 'a'.repeat(64);
const ended = (user_id: string, token_hash: string | null = null): SessionEnd => ({ v: 1, user_id, token_hash });

function setUp() {
  let time = 1_000;
  const closed: string[] = [];
  const ends = createSessionRegistry(() => time);
  return {
    ends,
    closed,
    pass: (ms: number) => void (time += ms),
    session: (name: string, parts: Partial<OpenSession> = {}): OpenSession => ({
      userId: 'ada',
      tokenHash: HASH,
      issuedAt: null,
      askedAt: time,
      close: () => void closed.push(name),
      ...parts,
    }),
  };
}

describe('the end of a session', () => {
  it('closes the sockets that came with its credential, and no others', () => {
    const { ends, closed, session } = setUp();
    ends.enter(session('phone'));
    ends.enter(session('same token'));
    ends.enter(session('tablet', { tokenHash: 'b'.repeat(64) }));
    ends.enter(session('bypass', { tokenHash: null }));
    ends.enter(session('other user', { userId: 'bob' }));
    ends.end(ended('ada', HASH));
    expect(closed).toEqual(['phone', 'same token']);
  });

  it('of all credentials closes every socket of the user', () => {
    const { ends, closed, session } = setUp();
    ends.enter(session('phone'));
    ends.enter(session('bypass', { tokenHash: null }));
    ends.enter(session('other user', { userId: 'bob' }));
    ends.end(ended('ada'));
    expect(closed).toEqual(['phone', 'bypass']);
  });

  it('does not close what left before', () => {
    const { ends, closed, session } = setUp();
    const leave = ends.enter(session('phone'));
    leave?.();
    leave?.();
    ends.end(ended('ada'));
    expect(closed).toEqual([]);
  });

  it('closes sockets that forget themselves while they are closed', () => {
    const { ends, closed, session } = setUp();
    for (const name of ['one', 'two']) {
      const entry = session(name);
      const leave = ends.enter({
        ...entry,
        close() {
          entry.close('session_ended');
          leave?.();
        },
      });
    }
    ends.end(ended('ada'));
    expect(closed).toEqual(['one', 'two']);
  });

  it('refuses a socket whose handshake was under way, and takes one that asked afterwards', () => {
    const { ends, session, pass } = setUp();
    const early = session('early');
    pass(5_000);
    ends.end(ended('ada', HASH));
    expect(ends.enter(early)).toBeUndefined();
    expect(ends.enter({ ...early, tokenHash: 'b'.repeat(64) })).toBeDefined();
    pass(1);
    expect(ends.enter(session('late'))).toBeDefined();
  });

  it('is forgotten when no handshake can be as old any more', () => {
    const { ends, session, pass } = setUp();
    const old = session('old');
    ends.end(ended('ada'));
    pass(60_000);
    ends.end(ended('bob'));
    expect(ends.enter(old)).toBeDefined();
  });

  it('is told with its reason, or without one if that is not known', () => {
    const { ends, session } = setUp();
    const codes: string[] = [];
    ends.enter(session('phone', { close: (code) => void codes.push(code) }));
    ends.end({ ...ended('ada'), code: 'user_banned' });
    ends.end(ended('ada'));
    expect(codes).toEqual(['user_banned', 'session_ended']);
  });
});
