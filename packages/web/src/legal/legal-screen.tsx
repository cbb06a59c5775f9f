import { Text } from '../conversation/text.js';
import { Screen } from '../screen/screen.js';
import { EmptyState, Problem, Spinner } from '../ui/parts.js';
import { TITLES, useLegal } from './use-legal.js';

/** Needs no session. */
export function LegalScreen({ document }: { document: string }) {
  const { legal, error } = useLegal();
  const [title, text] = TITLES[document] ?? [];
  if (title === undefined || text === undefined)
    return <EmptyState icon="document" title="There is no such document" />;
  return (
    <main>
      <Screen title={title} actions={<a href="/">uswarm</a>}>
        {error !== undefined && <Problem>{error}</Problem>}
        {legal === undefined ? (
          error === undefined && <Spinner label="Loading" />
        ) : (
          <Text text={text(legal)} above="h1" />
        )}
      </Screen>
    </main>
  );
}
