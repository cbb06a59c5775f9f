import { Screen } from '../screen/screen.js';
import { ButtonLink } from '../ui/button.js';
import { useReturn } from './use-return.js';

/** Where a provider returns to. */
export function ConnectedScreen() {
  const problem = useReturn();
  return (
    <Screen title={problem === undefined ? 'Connecting…' : 'It is not connected'}>
      {problem !== undefined && (
        <>
          <p role="alert">{problem}</p>
          <div>
            <ButtonLink href="/">Back</ButtonLink>
          </div>
        </>
      )}
    </Screen>
  );
}
