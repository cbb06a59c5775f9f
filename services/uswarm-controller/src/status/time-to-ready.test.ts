import { describe, expect, it } from '@jest/globals';
import { createTimeToReady } from './time-to-ready.js';

describe('the time to Ready', () => {
  const measure = () => {
    const seen: [string, number][] = [];
    let ms = 0;
    const time = createTimeToReady(
      (from, seconds) => seen.push([from, seconds]),
      () => ms,
    );
    return { seen, time, pass: (more: number) => void (ms += more) };
  };

  it('counts from the first observation without a status', () => {
    const { seen, time, pass } = measure();
    time.seen('u', undefined);
    pass(500);
    time.seen('u', undefined);
    time.changed('u', undefined, 'Progressing');
    pass(1_500);
    time.changed('u', 'Progressing', 'Ready');
    expect(seen).toEqual([['create', 2]]);
  });

  it('counts a resume and a recovery from when it left the other phase', () => {
    const { seen, time, pass } = measure();
    time.changed('u', 'Suspended', 'Progressing');
    pass(3_000);
    time.changed('u', 'Progressing', 'Ready');
    time.changed('u', 'Ready', 'Progressing');
    pass(1_000);
    time.changed('u', 'Progressing', 'Ready');
    expect(seen).toEqual([
      ['resume', 3],
      ['recovery', 1],
    ]);
  });

  it('records nothing for a UserSwarm that was not progressing at first, or was forgotten', () => {
    const { seen, time } = measure();
    time.seen('u', 'Progressing');
    time.changed('u', 'Progressing', 'Ready');
    time.seen('v', undefined);
    time.changed('v', 'Progressing', 'Suspended');
    time.changed('v', 'Suspended', 'Ready');
    time.seen('w', undefined);
    time.forget('w');
    time.changed('w', 'Progressing', 'Ready');
    expect(seen).toEqual([]);
  });
});
