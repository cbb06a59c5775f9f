import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '../run/environment.mjs';
import { mutate, MUTATIONS } from './mutations.mjs';

const read = (file) => readFileSync(join(repositoryRoot, file), 'utf8');

describe('the mutation check of turns', () => {
  it.each(MUTATIONS.map((mutation) => [mutation.name, mutation]))('changes the code: %s', (_name, mutation) => {
    const source = read(mutation.file);
    expect(mutate(source, mutation)).not.toBe(source);
  });

  it.each(MUTATIONS.map((mutation) => [mutation.name, mutation]))('names tests that exist: %s', (_name, { tests }) => {
    // `%s` is a part that the test fills in.
    const isIn = (source, name) => source.includes(`'${name}'`) || source.includes(`'${name.replace(/\S+$/, '%s')}'`);
    const missing = tests.filter(({ file, name }) => !isIn(read(file), name));
    expect(missing).toEqual([]);
    expect(tests.length).toBeGreaterThan(0);
  });

  it('rejects a text that is not in the code, or not once', () => {
    const mutation = { name: 'x', file: 'f.ts', from: 'a', to: 'b' };
    expect(() => mutate('', mutation)).toThrow('does not contain this text once');
    expect(() => mutate('a a', mutation)).toThrow('does not contain this text once');
    expect(mutate('(a)', mutation)).toBe('(b)');
  });
});
