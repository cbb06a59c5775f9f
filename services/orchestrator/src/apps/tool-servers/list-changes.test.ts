import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createListChanges } from './list-changes.js';
import type { ConnectedServer } from './listing.js';

const connected = (id: string, ownerId: string | null = null) =>
  ({ server: { id }, ownerId }) as unknown as ConnectedServer;

describe('changes that a tool server reports', () => {
  let listed: string[] = [];
  const changes = createListChanges({
    refresh: async ({ server, ownerId }) => void listed.push(`${server.id} of ${ownerId}`),
  });
  beforeEach(() => {
    listed = [];
    jest.useFakeTimers();
  });
  afterEach(() => {
    changes.close();
    jest.useRealTimers();
  });

  it('lead to an immediate list, and to one more after ten seconds', () => {
    for (let count = 0; count < 1_000; count += 1) changes.changed(connected('a'));
    expect(listed).toHaveLength(1);
    jest.advanceTimersByTime(9_999);
    expect(listed).toHaveLength(1);
    jest.advanceTimersByTime(1);
    expect(listed).toHaveLength(2);
    jest.advanceTimersByTime(60_000);
    expect(listed).toHaveLength(2);
  });

  it('do not delay those of another server or account', () => {
    changes.changed(connected('a'));
    changes.changed(connected('b'));
    changes.changed(connected('a', 'user'));
    expect(listed).toEqual(['a of null', 'b of null', 'a of user']);
  });

  it('lead to no list after the end', () => {
    changes.changed(connected('a'));
    changes.changed(connected('a'));
    changes.close();
    jest.advanceTimersByTime(60_000);
    expect(listed).toHaveLength(1);
  });
});
