import { Section, Show } from '../screen/screen.js';
import { ownUrl } from '../session/own-url.js';
import { Button } from '../ui/button.js';
import { fileSize } from '../ui/file-size.js';
import { Facts, Item } from '../ui/item.js';
import { Badge, RelativeTime, Spinner } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { type Export, isRunning, useExports } from './use-exports.js';

/** All user data as a file. */
export function DataExport() {
  const { loaded, running, start } = useExports();
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
