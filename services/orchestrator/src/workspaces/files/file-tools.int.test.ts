import { describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { createFileWriter } from '@uswarm/file-writer';
import { silentLogger } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { beginToolTurn } from '../../../test/tool-turn.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { download } from '../../../test/uploads.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { createSafeMarkdown } from '../../turns/content/reply-text.js';
import { createAttachments } from '../uploads/attachments.js';
import { createFileObjects } from '../uploads/file-objects.js';
import { createFilesModule } from './files.module.js';
import { createReader } from './reader.js';

describe('create_file', () => {
  const world = useTurnFixture();

  const begin = async (limits: { UPLOAD_BYTES_PER_USER?: number; UPLOADS_PER_USER?: number } = {}) => {
    const { stores } = world.turnWorker;
    const { database, objectDirectory } = world.uswarm;
    const { tools } = createFilesModule({
      config: {
        PUBLIC_URL: undefined,
        UPLOAD_BYTES_PER_USER: 1e9,
        UPLOADS_PER_USER: 100,
        CODE_RUNNER_ENABLED: true,
        CODE_RUNNER_PROCESSES: 1,
        ...limits,
      },
      background: { database, withTransaction: createWithTransaction(database), jobs: stores.jobs },
      events: stores.events,
      objects: createFileObjects(objectDirectory),
      attachments: createAttachments({ links: { url: (id) => id } }),
      transcripts: { read: () => Promise.reject(new Error('no recordings')) },
      reader: createReader(silentLogger),
      writer: createFileWriter({ timeoutMs: 60_000 }),
      artifactById: () => Promise.resolve(undefined),
      logger: silentLogger,
    });
    const begun = await beginToolTurn(world, tools);
    /** The messages with files in the conversation. */
    const files = async () => {
      const { body } = await world.user.get<{ data: MessageData[] }>(`${world.home.messages}?limit=100`);
      return body.data.filter(({ attachments, turn_id: turn }) => attachments.length > 0 && turn === begun.turn.id);
    };
    const uploads = async () => {
      const userId = await world.uswarm.idOf(world.user);
      return database.selectFrom('uploads').select(['name', 'state']).where('user_id', '=', userId).execute();
    };
    return { ...begun, files, uploads };
  };
  const saved = (message: MessageData | undefined) =>
    download(world.uswarm.url, message?.attachments[0]?.url.replace(/^https?:\/\/[^/]+/, '') ?? '');

  it('gives the user a message with the file, which can be downloaded', async () => {
    const { call, files } = await begin();
    const outcome = await call('create_file', { name: 'Tea', type: 'csv', content: 'a;b\n1;2' });
    expect(outcome).toEqual({ failed: false, text: 'The user has the file “Tea.csv”, 10 bytes.', showsMessage: true });
    const [message, ...others] = await files();
    expect(others).toEqual([]);
    expect(message).toMatchObject({
      role: 'agent',
      content: { type: 'text', text: 'Tea.csv' },
      attachments: [{ name: 'Tea.csv', type: 'file', mime_type: 'text/csv', size: 10 }],
    });
    const { bytes, headers } = await saved(message);
    expect(bytes.toString()).toBe('a,b\r\n1,2\r\n');
    expect(headers['content-disposition']).toBe('attachment; filename=Tea.csv');
  });

  it('writes a file once if its call is repeated, also after a crash before the commit', async () => {
    const { call, files, uploads } = await begin();
    const before = (await uploads()).length;
    const input = { name: 'Tea', type: 'pdf', content: '# Tea' };
    const crash = new Error('killed');
    const killed = { call: () => Promise.reject(crash) } as unknown as NonNullable<Parameters<typeof call>[2]>['by'];
    await expect(call('create_file', input, { id: 'one', ...(killed && { by: killed }) })).rejects.toBe(crash);
    const first = await call('create_file', input, { id: 'one' });
    expect(await call('create_file', input, { id: 'one' })).toEqual(first);
    expect(await files()).toHaveLength(1);
    expect(await uploads()).toHaveLength(before + 1);
  });

  it('tells the agent that the storage of the user is full, or has too many files', async () => {
    const input = { name: 'Tea', type: 'text', content: 'tea' };
    const full = await begin({ UPLOAD_BYTES_PER_USER: 2 });
    expect(await full.call('create_file', input)).toMatchObject({
      failed: true,
      text: "The user's storage is full. Ask the user to delete messages with files.",
    });
    expect(await full.files()).toEqual([]);
    await full.writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'No.', errorCode: null });
    const many = await begin({ UPLOADS_PER_USER: 0 });
    expect(await many.call('create_file', input)).toMatchObject({
      failed: true,
      text: 'The user has too many files. Ask the user to delete messages with files.',
    });
  });

  it('removes folders and invisible characters from the name', async () => {
    const { call, files } = await begin();
    await call('create_file', { name: '../../etc/\u202Etea\u0000.md', type: 'markdown', content: '# Tea' });
    expect((await files()).map(({ attachments }) => attachments[0]?.name)).toEqual(['....etctea.md']);
  });

  it('tells what cannot be written', async () => {
    const { call, files } = await begin();
    expect(await call('create_file', { name: 'a', type: 'xlsx', content: '' })).toMatchObject({ failed: true });
    expect(await call('create_file', { name: 'a', type: 'pdf', content: '日本語' })).toMatchObject({ failed: true });
    expect(await call('create_file', { name: 'a', type: 'exe', content: 'x' })).toMatchObject({ failed: true });
    expect(await files()).toEqual([]);
  });

  it('keeps text of a link to another host readable in documents', async () => {
    const { call, files } = await begin();
    await call('create_file', { name: 'a', type: 'markdown', content: '[The guide](https://evil.example/x)' });
    const { bytes } = await saved((await files())[0]);
    expect(bytes.toString()).toBe(createSafeMarkdown(undefined).text('[The guide](https://evil.example/x)'));
    expect(bytes.toString()).toContain('evil.example');
  });

  it('leaves the file to the retention of uploads when its message is deleted', async () => {
    const { call, files, writer } = await begin();
    await call('create_file', { name: 'a', type: 'text', content: 'x' });
    await writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Done.', errorCode: null });
    const [message] = await files();
    const { database } = world.uswarm;
    const due = () =>
      database
        .selectFrom('work')
        .select('subject_id')
        .where('kind', '=', 'upload')
        .where('run_at', '<=', new Date())
        .where('subject_id', '=', message?.attachments[0]?.id ?? '')
        .execute();
    expect(await due()).toEqual([]);
    await world.user.delete(`${world.home.workspace}/messages/${message?.id}`, undefined, 204);
    await eventually(due, { until: (jobs) => jobs.length === 1, timeoutMs: 10_000 });
  });
});
