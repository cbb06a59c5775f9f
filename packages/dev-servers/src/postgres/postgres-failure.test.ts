import { describe, expect, it } from '@jest/globals';
import { isPortInUse, isStillStopping, postgresFailure } from './postgres-failure.js';

describe('postgresFailure', () => {
  it.each([
    [
      'a library that glibc does not find',
      '/x/bin/postgres: error while loading shared libraries: libstdc++.so.6: cannot open shared object file: No such file',
      'Postgres needs the system library libstdc++.so.6, which this machine lacks; install libstdc++6 (Debian, Ubuntu) or libstdc++ (Fedora, Red Hat).',
    ],
    [
      'a library without a known package',
      'dyld[1]: Library not loaded: /usr/lib/libfoo.dylib\n  Referenced from: x',
      'Postgres needs the system library /usr/lib/libfoo.dylib, which this machine lacks; install the package of your system that contains it.',
    ],
    [
      'a library of the npm package',
      'initdb: error while loading shared libraries: libicuuc.so.60: cannot open shared object file: No such file',
      'The embedded Postgres is incomplete (libicuuc.so.60 is missing); remove node_modules and start again, and let npm packages run their install scripts.',
    ],
    [
      'a full disk',
      'initdb: error: could not create directory: No space left on device',
      'Postgres cannot start: the disk is full; free some space and start again.',
    ],
    [
      'an unknown reason',
      'LOG:  starting\n2026-01-01 UTC [1] FATAL:  could not map memory.\nLOG:  database system is shut down\n',
      'Postgres could not start: could not map memory. The log is in /log.',
    ],
    ['an empty output', '', 'Postgres could not start: it ended without a message. The log is in /log.'],
  ])('describes %s in one sentence', (_what, output, sentence) => {
    expect(postgresFailure('postgres', output, '/log').message).toBe(sentence);
  });
});

describe('a temporary failure', () => {
  it('is recognized for a port in use', () => {
    const log =
      'LOG:  could not bind IPv4 address "127.0.0.1": Address already in use\nFATAL:  could not create any TCP/IP sockets';
    expect({ portInUse: isPortInUse(log), stopping: isStillStopping(log) }).toEqual({
      portInUse: true,
      stopping: false,
    });
  });

  it('is recognized for a killed server whose children still run', () => {
    const log = 'FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use';
    expect({ portInUse: isPortInUse(log), stopping: isStillStopping(log) }).toEqual({
      portInUse: false,
      stopping: true,
    });
  });
});
