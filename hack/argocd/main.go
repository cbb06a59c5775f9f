// Reports how Argo CD classifies manifests as hooks, with the code of several versions of Argo CD. It reads a JSON list
// of objects from standard input and writes the result per version and object to standard output. `assemble` copies the
// packages.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	controller214 "uswarm.dev/argocd/v214/controller"
	hook214 "uswarm.dev/argocd/v214/hook"
	controller33 "uswarm.dev/argocd/v33/controller"
	hook33 "uswarm.dev/argocd/v33/hook"
	controller35 "uswarm.dev/argocd/v35/controller"
	hook35 "uswarm.dev/argocd/v35/hook"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type verdict struct {
	// A sync applies the object as a normal resource.
	Synced bool `json:"synced"`
	// Phases of a sync in which the object runs as a hook.
	SyncPhases []string `json:"syncPhases"`
	// The object is a hook before or after the deletion of the Application.
	PreDelete      bool     `json:"preDelete"`
	PostDelete     bool     `json:"postDelete"`
	DeletePolicies []string `json:"deletePolicies"`
}

type predicate func(*unstructured.Unstructured) bool

func never(*unstructured.Unstructured) bool { return false }

func judge[Type, Policy ~string](object *unstructured.Unstructured, isHook, pre, post predicate, types func(*unstructured.Unstructured) []Type, policies func(*unstructured.Unstructured) []Policy) verdict {
	found := verdict{Synced: !isHook(object), SyncPhases: []string{}, PreDelete: pre(object), PostDelete: post(object), DeletePolicies: []string{}}
	if !found.Synced {
		for _, phase := range types(object) {
			if strings.HasSuffix(string(phase), "Sync") || phase == "SyncFail" {
				found.SyncPhases = append(found.SyncPhases, string(phase))
			}
		}
		for _, policy := range policies(object) {
			found.DeletePolicies = append(found.DeletePolicies, string(policy))
		}
	}
	return found
}

func main() {
	var objects []map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	verdicts := map[string][]verdict{"2.14": {}, "3.3": {}, "3.5": {}}
	for _, content := range objects {
		object := &unstructured.Unstructured{Object: content}
		verdicts["2.14"] = append(verdicts["2.14"], judge(object, controller214.IsHook, never, controller214.IsPostDeleteHook, hook214.Types, hook214.DeletePolicies))
		verdicts["3.3"] = append(verdicts["3.3"], judge(object, controller33.IsHook, controller33.IsPreDeleteHook, controller33.IsPostDeleteHook, hook33.Types, hook33.DeletePolicies))
		verdicts["3.5"] = append(verdicts["3.5"], judge(object, controller35.IsHook, controller35.IsPreDeleteHook, controller35.IsPostDeleteHook, hook35.Types, hook35.DeletePolicies))
	}
	if err := json.NewEncoder(os.Stdout).Encode(verdicts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
