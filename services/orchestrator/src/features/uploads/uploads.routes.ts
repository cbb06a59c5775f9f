import type { FormLimits } from '../../http/form.js';
import type { Handler, Handlers } from '../../http/handlers.js';
import { FileAnswer } from '../../http/file-answer.js';
import { servedType } from './file-kind.js';
import { savedAs } from './file-names.js';
import { type Download, etagOf, type UploadService } from './uploads.service.js';

/** spec: orchestrator §4.1 */
export function uploadHandlers(service: UploadService, limits: FormLimits) {
  const createUpload: Handler<'createUpload'> = async ({ actor, form, headers }) => {
    const owner = { userId: actor.userId, key: headers['idempotency-key'] };
    const attachment = await form.receiveFile(limits, (file) => service.receive(owner, file));
    return { status: 201, body: { data: attachment } };
  };

  const getUpload: Handler<'getUpload'> = async ({ params: { id }, query, headers }) => {
    const { range, 'if-range': ifRange } = headers;
    const download = await service.download({ id, signature: query.sig, range, ifRange });
    return new FileAnswer({
      status: download.range === undefined ? 200 : 206,
      headers: headersOf(download),
      open: download.open,
    });
  };

  return { createUpload, getUpload } satisfies Partial<Handlers>;
}

/** A file is saved, never shown: whatever is in it, a browser does not run it in the name of this host. */
function headersOf({ upload, range }: Download): Record<string, string> {
  const { name, mime_type, size } = upload;
  const length = range === undefined ? size : range.end - range.start + 1;
  return {
    'Content-Type': servedType(mime_type),
    'Content-Disposition': savedAs(name),
    'Content-Length': String(length),
    'Accept-Ranges': 'bytes',
    ETag: etagOf(upload),
    ...(range === undefined ? {} : { 'Content-Range': `bytes ${range.start}-${range.end}/${size}` }),
  };
}
