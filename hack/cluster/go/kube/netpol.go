package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// burst is how long changes are collected before the rules are replaced.
const burst = 50 * time.Millisecond

// netpol enforces NetworkPolicy (networking.k8s.io/v1, IPv4) on a single-node cluster whose
// pods are routed by the host (the ptp CNI plugin), so that every packet between pods passes
// the host's forward hook. It keeps one nftables table and replaces it whole, atomically, at
// each change. What the node itself sends to its pods (probes) is never filtered. A change
// reaches new connections only; a new pod is covered from when its address is published.
func netpol() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	client, err := newClient()
	if err != nil {
		return err
	}
	changed := make(chan struct{}, 1)
	poke := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	read, err := watchCluster(ctx, client, poke)
	if err != nil {
		return err
	}
	last := ""
	for {
		state, err := read()
		if err != nil {
			return err
		}
		if text := state.ruleset(); text != last {
			if err := replaceRules(ctx, text); err != nil {
				fmt.Fprintln(os.Stderr, err)
				time.AfterFunc(time.Second, poke)
			} else {
				last = text
				fmt.Printf("%d policies, %d pods: rules replaced\n", len(state.policies), len(state.pods))
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			time.Sleep(burst)
		}
	}
}

func newClient() (*kubernetes.Clientset, error) {
	config, err := rest.InClusterConfig()
	if file := os.Getenv("KUBECONFIG"); file != "" {
		config, err = clientcmd.BuildConfigFromFlags("", file)
	}
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// watchCluster calls poke after each change and returns what reads the state that was seen last.
func watchCluster(ctx context.Context, client *kubernetes.Clientset, poke func()) (func() (state, error), error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	pods, namespaces := factory.Core().V1().Pods(), factory.Core().V1().Namespaces()
	policies := factory.Networking().V1().NetworkPolicies()
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke() }, UpdateFunc: func(_, _ any) { poke() }, DeleteFunc: func(any) { poke() },
	}
	for _, informer := range []cache.SharedIndexInformer{pods.Informer(), namespaces.Informer(), policies.Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return func() (state, error) {
		p, err1 := pods.Lister().List(labels.Everything())
		n, err2 := namespaces.Lister().List(labels.Everything())
		q, err3 := policies.Lister().List(labels.Everything())
		if err1 != nil || err2 != nil || err3 != nil {
			return state{}, fmt.Errorf("list: %v %v %v", err1, err2, err3)
		}
		return newState(p, n, q), nil
	}, nil
}

func replaceRules(ctx context.Context, text string) error {
	cmd := exec.CommandContext(ctx, "nft", "-f", "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}
