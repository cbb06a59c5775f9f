import { createClient, type ShownMessage, type Store } from '@uswarm/client';
import { useConnection, useConversation, useConversations, useWorkspaces } from '@uswarm/client/react';
import AsyncStorage from '@react-native-async-storage/async-storage';
import { fetch as streamingFetch } from 'expo/fetch';
import { useEffect, useState } from 'react';
import { AppState, Button, FlatList, SafeAreaView, StyleSheet, Text, TextInput, View } from 'react-native';

/** The Android emulator reaches local mode with `adb reverse tcp:8080 tcp:8080`, a phone with `npm start -- --host <address>`. */
const url = process.env['EXPO_PUBLIC_USWARM_URL'] ?? 'http://127.0.0.1:8080';
const EMAIL = 'phone@example.com';

/** Local mode signs in anybody. Other installations take the ID token of their identity provider. */
async function signIn(): Promise<string> {
  const response = await fetch(`${url}/dev/issuer/dev/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: EMAIL, name: 'Phone' }),
  });
  return ((await response.json()) as { id_token: string }).id_token;
}
let idToken: Promise<string> | undefined;

const PREFIX = 'uswarm/';
/** Keeps what the client must not forget, one entry per value. */
const store: Store = {
  async load(scope) {
    const start = `${PREFIX}${scope}/`;
    const keys = (await AsyncStorage.getAllKeys()).filter((key) => key.startsWith(start));
    const entries = Object.entries(await AsyncStorage.getMany(keys));
    return entries.map(([key, value]) => [key.slice(start.length), JSON.parse(value ?? 'null')]);
  },
  async commit(changes) {
    const name = ({ scope, key }: { scope: string; key: string }) => `${PREFIX}${scope}/${key}`;
    const [set, removed] = [
      changes.filter(({ value }) => value !== undefined),
      changes.filter(({ value }) => value === undefined),
    ];
    await AsyncStorage.setMany(Object.fromEntries(set.map((change) => [name(change), JSON.stringify(change.value)])));
    await AsyncStorage.removeMany(removed.map(name));
  },
  async clear() {
    const keys = await AsyncStorage.getAllKeys();
    await AsyncStorage.removeMany(keys.filter((key) => key.startsWith(PREFIX)));
  },
  close: () => undefined,
};

const uswarm = createClient({
  url,
  token: ({ refresh }) => (refresh ? (idToken = signIn()) : (idToken ??= signIn())),
  store,
  transport: 'sse',
  fetch: streamingFetch as unknown as typeof fetch,
});

export default function App() {
  const { state } = useConnection(uswarm);
  const [workspace] = useWorkspaces(uswarm);
  useEffect(() => {
    void uswarm.api
      .post('/v1/auth/sign-up')
      // Offline, the stored messages are shown.
      .catch(() => undefined)
      .then(() => uswarm.start());
    const app = AppState.addEventListener('change', (next) =>
      next === 'active' ? uswarm.foreground() : uswarm.background(),
    );
    return () => app.remove();
  }, []);
  return (
    <SafeAreaView style={styles.screen}>
      <Text accessibilityRole="header" style={styles.header}>
        Chat ({state})
      </Text>
      {workspace === undefined ? <Text>Loading</Text> : <FirstChat workspaceId={workspace.id} />}
    </SafeAreaView>
  );
}

function FirstChat({ workspaceId }: { workspaceId: string }) {
  const [first] = useConversations(uswarm, workspaceId);
  return first === undefined ? <Text>Loading</Text> : <Chat workspaceId={workspaceId} conversationId={first.id} />;
}

function Chat({ workspaceId, conversationId }: { workspaceId: string; conversationId: string }) {
  const { messages, send, choose } = useConversation(uswarm, workspaceId, conversationId);
  const [text, setText] = useState('');
  const submit = (): void => {
    if (text.trim() !== '') void send({ text });
    setText('');
  };
  return (
    <>
      <FlatList
        style={styles.list}
        inverted
        data={messages.toReversed()}
        keyExtractor={({ key }) => key}
        renderItem={({ item }) => <Message message={item} choose={(action) => void choose(item.id ?? '', action)} />}
      />
      <View style={styles.row}>
        <TextInput
          style={styles.input}
          accessibilityLabel="Message"
          value={text}
          onChangeText={setText}
          onSubmitEditing={submit}
        />
        <Button title="Send" onPress={submit} />
      </View>
    </>
  );
}

function Message({ message, choose }: { message: ShownMessage; choose: (actionId: string) => void }) {
  const { content, role, status } = message;
  return (
    <View style={styles.message}>
      <Text style={role === 'user' ? styles.own : undefined}>{message.text || `(${content.type})`}</Text>
      {status === 'refused' && <Text>Not sent</Text>}
      {content.type === 'action_card' &&
        content.actions.map(({ id, label }) => <Button key={id} title={label} onPress={() => choose(id)} />)}
    </View>
  );
}

const styles = StyleSheet.create({
  screen: { flex: 1, padding: 16 },
  header: { fontSize: 20, fontWeight: '600' },
  list: { flex: 1 },
  message: { paddingVertical: 6 },
  own: { fontWeight: '600' },
  row: { flexDirection: 'row', alignItems: 'center', gap: 8 },
  input: { flex: 1, borderWidth: 1, borderColor: '#888', borderRadius: 6, padding: 8 },
});
