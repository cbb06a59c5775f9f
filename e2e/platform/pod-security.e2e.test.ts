import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import {
  evaluateInPod,
  type Kinds,
  NAMESPACE,
  openSession,
  phasesSeen,
  readyCondition,
  type Session,
} from '../support/index.js';

let session: Session;
let name: string;
let pod: Kinds['Pod'];
beforeAll(async () => {
  session = await openSession();
  name = session.newName();
  const manifest = JSON.stringify(session.manifest({}, name));
  await session.tools.kubectl(['apply', '-f', '-'], { input: manifest });
  session.onClose(() => session.api.delete('UserSwarm', { name }));
  await session.ready(name);
  pod = (await session.children(name)).pods[0]!;
});
afterAll(() => session?.close());

/** Runs a function in the runtime's container. */
const inside = <T>(code: () => T | Promise<T>): Promise<T> =>
  evaluateInPod(session.tools, { namespace: NAMESPACE.runtime, pod: pod.metadata!.name! }, code);

describe('the spec of a runtime pod', () => {
  it('belongs to a UserSwarm that was Progressing before it was Ready', () => {
    expect(phasesSeen(session.swarms.history(name))).toEqual(['Progressing', 'Ready']);
  });

  it('CRD-018: runs as user and group 65532, and never as root', () => {
    const identity = { runAsUser: 65_532, runAsGroup: 65_532, runAsNonRoot: true };
    expect(pod.spec?.securityContext).toEqual({
      ...identity,
      fsGroup: 65_532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod.spec?.containers.map(({ securityContext }) => securityContext)).toEqual([
      {
        ...identity,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      },
    ]);
  });

  it('has one container and shares nothing with its node', () => {
    const { containers, ephemeralContainers, hostIPC, hostNetwork, hostPID, initContainers } = pod.spec!;
    expect(containers).toHaveLength(1);
    expect([initContainers, ephemeralContainers, hostIPC, hostNetwork, hostPID].filter(Boolean)).toEqual([]);
    expect(containers[0]?.ports?.map(({ hostPort }) => hostPort)).toEqual([undefined]);
  });

  it('CRD-023 CTRL-006: has exactly two volumes: a cache of 512Mi and 128Mi of memory', () => {
    expect(pod.spec?.volumes).toEqual([
      { name: 'cache', emptyDir: { sizeLimit: '512Mi' } },
      { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: '128Mi' } },
    ]);
    expect(pod.spec?.containers[0]?.volumeMounts).toEqual([
      { name: 'cache', mountPath: '/var/cache/uswarm' },
      { name: 'tmp', mountPath: '/tmp' },
    ]);
  });

  it('gets neither a ServiceAccount token nor Service addresses', () => {
    expect(pod.spec).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
    expect(pod.spec?.serviceAccountName).toBe(`agent-runtime-${name}`);
  });
});

describe('a process in a runtime pod', () => {
  const processStatus = () =>
    inside(async () => {
      const { readFile } = await import('node:fs/promises');
      const read = async (process: string) =>
        Object.fromEntries(
          (await readFile(`/proc/${process}/status`, 'utf8')).split('\n').map((line) => {
            const [key = '', value = ''] = line.split(':\t');
            return [key, value.trim().split(/\s+/)];
          }),
        ) as Record<string, string[]>;
      return [await read('1'), await read('self')];
    });

  it('CRD-018: has only user and group ids of 65532', async () => {
    for (const status of await processStatus()) {
      expect(status['Uid']).toEqual(['65532', '65532', '65532', '65532']);
      expect(status['Gid']).toEqual(['65532', '65532', '65532', '65532']);
      expect(status['Groups']).toEqual(['65532']);
    }
  });

  it('CRD-021: has no capability and cannot gain one', async () => {
    for (const status of await processStatus()) {
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
        expect({ set, values: status[set] }).toEqual({ set, values: ['0000000000000000'] });
      }
    }
  });

  it('CRD-020: cannot gain privileges', async () => {
    for (const status of await processStatus()) expect(status['NoNewPrivs']).toEqual(['1']);
  });

  it('CRD-022: filters its system calls', async () => {
    for (const status of await processStatus()) expect(status['Seccomp']).toEqual(['2']);
  });

  it('CRD-019: can write only to the two volumes', async () => {
    const outcome = await inside(async () => {
      const { rm, writeFile } = await import('node:fs/promises');
      const attempt = async (folder: string) => {
        const file = `${folder}/e2e-attempt`;
        try {
          await writeFile(file, 'x');
          await rm(file);
          return 'written';
        } catch (error) {
          return (error as NodeJS.ErrnoException).code;
        }
      };
      const folders = ['', '/app', '/app/dist', '/etc', '/usr/bin', '/var', '/home', '/var/cache/uswarm', '/tmp'];
      return Object.fromEntries(await Promise.all(folders.map(async (folder) => [folder, await attempt(folder)])));
    });
    const { '/tmp': tmp, '/var/cache/uswarm': cache, ...others } = outcome as Record<string, string>;
    expect({ tmp, cache }).toEqual({ tmp: 'written', cache: 'written' });
    expect(Object.values(others).filter((code) => !['EROFS', 'EACCES', 'ENOENT'].includes(code))).toEqual([]);
    expect(others['']).toBe('EROFS');
    expect(others['/app']).toBe('EROFS');
  });

  it('CRD-023: has no mounts other than the cache and the 128Mi of memory', async () => {
    const mounts = await inside(async () => {
      const { readFile, statfs } = await import('node:fs/promises');
      const lines = (await readFile('/proc/self/mountinfo', 'utf8')).trim().split('\n');
      const { blocks, bsize } = await statfs('/tmp');
      return { points: lines.map((line) => line.split(' ')[4]!), tmpBytes: blocks * bsize };
    });
    const system = /^\/$|^\/(proc|sys|dev)(\/|$)|^\/etc\/(hosts|hostname|resolv\.conf)$/;
    expect(mounts.points.filter((point) => !system.test(point)).toSorted()).toEqual(['/tmp', '/var/cache/uswarm']);
    expect(mounts.tmpBytes).toBe(128 * 1024 * 1024);
  });

  it('CTRL-006: cannot put more than 128Mi into /tmp', async () => {
    const end = await inside(async () => {
      const { open, rm } = await import('node:fs/promises');
      const file = await open('/tmp/large', 'w');
      const piece = Buffer.alloc(8 * 1024 * 1024, 1);
      let written = 0;
      try {
        for (; written < 160 * 1024 * 1024; written += piece.length) await file.writeFile(piece);
        return { written, code: 'none' };
      } catch (error) {
        return { written, code: (error as NodeJS.ErrnoException).code };
      } finally {
        await file.close();
        await rm('/tmp/large');
      }
    });
    expect(end.code).toBe('ENOSPC');
    expect(end.written).toBeLessThanOrEqual(128 * 1024 * 1024);
  });

  it('has no ServiceAccount token', async () => {
    const found = await inside(async () => {
      const { readdir } = await import('node:fs/promises');
      return readdir('/var/run/secrets/kubernetes.io/serviceaccount').catch(
        (error: NodeJS.ErrnoException) => error.code,
      );
    });
    expect(found).toBe('ENOENT');
  });

  it('has no addresses of Services other than the configured ones', async () => {
    const names = await inside(() =>
      Object.keys(process.env).filter((key) => /_SERVICE_HOST$|_PORT_\d+_TCP/.test(key)),
    );
    // Kubernetes sets these in every pod.
    expect(names.filter((key) => !key.startsWith('KUBERNETES_'))).toEqual([]);
  });
});

describe('a runtime pod that fills its cache', () => {
  it('CTRL-006: is replaced when the cache exceeds 512Mi', async () => {
    const greedy = await session.create();
    await session.ready(greedy);
    const before = (await session.children(greedy)).pods[0]!.metadata!;
    await evaluateInPod(session.tools, { namespace: NAMESPACE.runtime, pod: before.name! }, async () => {
      const { open } = await import('node:fs/promises');
      const file = await open('/var/cache/uswarm/large', 'w');
      const piece = Buffer.alloc(8 * 1024 * 1024, 1);
      for (let count = 0; count < 66; count += 1) await file.writeFile(piece);
      await file.close();
      return true;
    });
    // A pod that was evicted can end as completed: then only an Event has the reason.
    const message = await eventually(
      async () => {
        const fieldSelector = `involvedObject.uid=${before.uid},reason=Evicted`;
        return (await session.api.list('Event', { namespace: NAMESPACE.runtime, fieldSelector }))[0]?.message;
      },
      { description: 'the pod evicted', timeoutMs: 150_000, intervalMs: 2_000 },
    );
    expect(message).toContain('volume "cache" exceeds the limit "512Mi"');
    const { object } = await session.pod(
      greedy,
      'replaced',
      ({ metadata, status }) => metadata?.uid !== before.uid && (status?.containerStatuses?.[0]?.ready ?? false),
    );
    expect(object?.metadata?.uid).not.toBe(before.uid);
    await session.ready(greedy);
    const isReported = session.pods
      .history(`${NAMESPACE.runtime}/${before.name}`)
      .some((seen) => seen.object?.status?.reason === 'Evicted');
    const isShown = session.swarms
      .history(greedy)
      .some((seen) => seen.object !== undefined && readyCondition(seen.object)?.reason === 'Evicted');
    expect(isShown).toBe(isReported);
  });
});
