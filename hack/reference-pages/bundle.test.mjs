import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { repositoryRoot } from '../run/environment.mjs';
import { bundleReferencePages } from './bundle.mjs';

describe('the reference pages', () => {
  let files;
  beforeAll(async () => {
    const bundle = await bundleReferencePages(repositoryRoot);
    files = new Map(bundle.files.map(({ name, text }) => [name, text]));
  });

  it('load nothing from other servers', () => {
    for (const name of ['rest.html', 'realtime.html', 'rest.css', 'realtime.css']) {
      const loaded = [
        ...files.get(name).matchAll(/(?:src|href)="([^"]*)"|url\(\s*["']?([^)"']*)|@import\s+["']([^"']*)/g),
      ];
      const addresses = loaded.map((found) => found.slice(1).find((part) => part !== undefined));
      expect(addresses.filter((address) => /^(?:\w+:)?\/\//.test(address))).toEqual([]);
    }
  });

  it('have no inline script, style or handler, which their content security policy forbids', () => {
    for (const name of ['rest.html', 'realtime.html']) {
      expect(files.get(name)).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=/);
    }
  });

  it('show AsyncAPI without code that is compiled at run time', () => {
    expect(files.get('realtime.js')).not.toMatch(/new Function\(/);
  });

  // KiB, compressed.
  it.each([
    ['rest.js', 470],
    ['rest.css', 30],
    ['realtime.js', 160],
    ['realtime.css', 10],
  ])('have a %s of at most %i KiB', (name, limit) => {
    expect(gzipSync(files.get(name), { level: 9 }).length / 1024).toBeLessThanOrEqual(limit);
  });
});
