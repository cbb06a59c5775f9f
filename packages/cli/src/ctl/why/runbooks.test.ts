import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { REASON_ADVICE } from '@uswarm/contract/userswarm';
import { runbookOf } from './runbooks.js';

const RUNBOOKS = path.resolve(import.meta.dirname, '../../../../../docs/runbooks');
const NO_ACTION = ['Available', 'Suspended', 'Starting'];

describe('the runbook of a reason', () => {
  it.each(Object.keys(REASON_ADVICE).filter((reason) => !NO_ACTION.includes(reason)))('exists for %s', (reason) => {
    expect(existsSync(path.join(RUNBOOKS, `${runbookOf(reason)}.md`))).toBe(true);
  });

  it.each([...NO_ACTION, 'toString', 'FromALaterVersion'])('is absent for %s', (reason) => {
    expect(runbookOf(reason)).toBeNull();
  });
});
