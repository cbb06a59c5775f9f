import { describe, expect, it } from '@jest/globals';
import { dispositionOf } from './upload-retention.js';
import type { UploadFacts } from './uploads.store.js';

const HOUR_MS = 3_600_000;
const stored: UploadFacts = { state: 'stored', owned: true, attached: false, ageMs: 0 };

describe('what becomes of an upload', () => {
  it.each<[string, Partial<UploadFacts>, boolean, ReturnType<typeof dispositionOf>]>([
    ['a file of a message stays', { attached: true, ageMs: 1_000 * HOUR_MS }, true, 'keep'],
    ['a file waits a day for its message', { ageMs: HOUR_MS }, false, { againInMs: 23 * HOUR_MS }],
    ['an older unattached file is removed', { ageMs: 24 * HOUR_MS }, false, 'remove'],
    ['a file whose messages are deleted is removed immediately', { attached: true }, false, 'remove'],
    ['a file whose user is deleted is removed immediately', { owned: false }, false, 'remove'],
    ['a removal that was begun is ended', { state: 'removing', attached: true }, true, 'remove'],
    ['one that comes in has an hour', { state: 'receiving', owned: false }, false, { againInMs: HOUR_MS }],
    ['an older incomplete file is removed', { state: 'receiving', ageMs: HOUR_MS }, false, 'remove'],
  ])('%s', (_rule, facts, hasMessage, disposition) => {
    expect(dispositionOf({ ...stored, ...facts }, hasMessage)).toEqual(disposition);
  });
});
