import { describe, expect, it } from '@jest/globals';
import { dispositionOf } from './upload-retention.js';
import type { UploadFacts } from './uploads.store.js';

const HOUR_MS = 3_600_000;
const stored: UploadFacts = { state: 'stored', owned: true, attached: false, ageMs: 0 };

describe('dispositionOf', () => {
  it.each<[string, Partial<UploadFacts>, boolean, ReturnType<typeof dispositionOf>]>([
    ['keeps a file of a message', { attached: true, ageMs: 1_000 * HOUR_MS }, true, 'keep'],
    ['keeps a file without a message for a day', { ageMs: HOUR_MS }, false, { againInMs: 23 * HOUR_MS }],
    ['deletes an older file without a message', { ageMs: 24 * HOUR_MS }, false, 'remove'],
    ['deletes a file immediately if its messages are deleted', { attached: true }, false, 'remove'],
    ['deletes a file immediately if its user is deleted', { owned: false }, false, 'remove'],
    ['continues a deletion', { state: 'removing', attached: true }, true, 'remove'],
    ['keeps an incomplete file for an hour', { state: 'receiving', owned: false }, false, { againInMs: HOUR_MS }],
    ['deletes an older incomplete file', { state: 'receiving', ageMs: HOUR_MS }, false, 'remove'],
  ])('%s', (_rule, facts, hasMessage, disposition) => {
    expect(dispositionOf({ ...stored, ...facts }, hasMessage)).toEqual(disposition);
  });
});
