import type { Client, components } from '@uswarm/client';
import { Section, Show } from '../screen/screen.js';
import { useInterval } from '../screen/use-interval.js';
import { ownUrl } from '../session/own-url.js';
import { useLoaded } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { fileSize } from '../ui/file-size.js';
import { Facts, Item } from '../ui/item.js';
import { notifyError } from '../ui/notify.js';
import { Badge, RelativeTime, Spinner } from '../ui/parts.js';
import { ui } from '../ui/ui.js';

type Export = components['schemas']['Export'];
const isRunning = ({ status }: Export): boolean => status === 'pending' || status === 'running';

/** All data of the user as a file. */
export function DataExport({ client }: { client: Client }) {
  const loaded = useLoaded('exports', ({ api }, signal) =>
    api.get('/v1/users/exports', { signal }).then(({ data }) => data),
  );
  const running = loaded.data?.some(isRunning) ?? false;
  const { reload } = loaded;
  useInterval(running, reload, 3_000);
  const start = (): void =>
    void client.api.post('/v1/users/export').then(reload, notifyError('The export could not be started'));
  return (
    <Section
      title="Your data"
      lead="A ZIP file with everything: messages, files, memories, receipts and settings. One per hour."
    >
      <Show loaded={loaded} what="exports">
        {(exports) => (
          <>
            <ul className={ui('list')}>
              {exports.map((one) => (
                <ExportCard key={one.id} one={one} />
              ))}
            </ul>
            <div>
              <Button disabled={running} onClick={start}>
                Export my data
              </Button>
            </div>
          </>
        )}
      </Show>
    </Section>
  );
}

function ExportCard({ one }: { one: Export }) {
  const { status, size, url } = one;
  return (
    <Item
      actions={
        url !== null && (
          <a href={ownUrl(url)} className={ui('button')} download>
            Download
          </a>
        )
      }
    >
      <Facts>
        {isRunning(one) && <Spinner label="The export is being made" />}
        {isRunning(one) && <span>Being made. You can leave this page.</span>}
        {status === 'ready' && <Badge tone="ok">Ready</Badge>}
        {status === 'failed' && <Badge tone="bad">Failed, try again</Badge>}
        <RelativeTime at={one.created_at} />
        {size !== null && <span>{fileSize(size)}</span>}
        {one.expires_at !== null && <span>until {new Date(one.expires_at).toLocaleDateString()}</span>}
      </Facts>
    </Item>
  );
}
