import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Screen, Show } from '../screen/screen.js';
import { pages } from '../session/pages.js';
import { useAgents } from '../session/use-client.js';
import { Button } from '../ui/button.js';
import { Icon } from '../ui/icon.js';
import { Facts, Item, Pairs } from '../ui/item.js';
import { notifyError } from '../ui/notify.js';
import { Badge, EmptyState, RelativeTime } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { OUTCOMES, type Receipt, type Shown, useReceipts, VERDICTS } from './receipts.js';

/** Lists what agents changed for the user, in other apps and here, with proof. */
export function ReceiptsScreen({ workspaceId }: { workspaceId: string }) {
  const { loaded, pageAfter } = useReceipts(workspaceId);
  return (
    <Screen
      title="Done on your behalf"
      lead="Each change that an agent made for you has a receipt. Its signature is verified in this browser."
    >
      <Show loaded={loaded} what="receipts">
        {(first) => {
          const { shown, next, more } = pageAfter(first);
          return (
            <>
              {shown.length === 0 && (
                <EmptyState icon="receipt" title="Nothing was changed for you yet">
                  <p>When an agent sends a mail, plans an event or saves a memory, its receipt appears here.</p>
                </EmptyState>
              )}
              <ul className={ui('list')}>
                {shown.map((one) => (
                  <ReceiptCard key={one.receipt.id} workspaceId={workspaceId} {...one} />
                ))}
              </ul>
              {next !== null && (
                <Button onClick={() => void more().catch(notifyError('Older receipts could not be loaded'))}>
                  Older
                </Button>
              )}
            </>
          );
        }}
      </Show>
    </Screen>
  );
}

const NOT_KEPT = 'Not kept, so that you can delete what agents wrote';

/** Shows the signed payload if there is a signature. */
function ReceiptCard({ workspaceId, receipt: given, verdict }: Shown & { workspaceId: string }) {
  const receipt = verdict.state === 'verified' ? ({ ...given, ...verdict.payload } as Receipt) : given;
  const agent = useAgents(workspaceId).find(({ id }) => id === receipt.agent_id)?.name ?? 'A former agent';
  const [outcome, tone] = OUTCOMES[receipt.status];
  const [proof, proofTone] = VERDICTS[verdict.state];
  const { approval, arguments: sent } = receipt;
  const details: [name: string, value: ReactNode][] = [
    ['Approved by you', approval ? <RelativeTime at={approval.approved_at} /> : 'Not needed: the tool is allowed'],
    ['Tool', receipt.tool],
    ['Arguments', sent ? <pre tabIndex={0}>{JSON.stringify(sent, null, 2)}</pre> : NOT_KEPT],
    ['Receipt', <code key="id">{receipt.id}</code>],
  ];
  return (
    <Item title={receipt.approval?.title ?? receipt.tool.replaceAll('_', ' ')} level="h2">
      <Facts>
        <Badge tone={tone}>{outcome}</Badge>
        <Badge tone={proofTone}>{proof}</Badge>
        <span>{agent}</span>
        <RelativeTime at={receipt.sent_at} />
        <Link href={pages.conversation(workspaceId, receipt.conversation_id)}>Conversation</Link>
      </Facts>
      {receipt.status === 'unknown' && (
        <p className={ui('lead')}>
          The request was sent, but it is not known whether it arrived. Look in the other app before you repeat it.
        </p>
      )}
      {receipt.outcome !== null && <p className={ui('lead plain')}>{receipt.outcome}</p>}
      <details>
        <summary className={ui('row tight lead')}>
          Details <Icon name="chevron" size={14} />
        </summary>
        <Pairs pairs={details} />
      </details>
    </Item>
  );
}
