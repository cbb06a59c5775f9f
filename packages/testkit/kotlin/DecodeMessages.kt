import java.io.File
import kotlinx.serialization.encodeToString
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.encodeToJsonElement
import org.openapitools.client.infrastructure.Serializer
import org.openapitools.client.models.MessageContent
import org.openapitools.client.models.MessagePage

/** Reads a page of messages with the generated models; prints the field of each content that only its class has. */
fun main(arguments: Array<String>) {
    val json = Serializer.kotlinxSerializationJson
    val page = json.decodeFromString<MessagePage>(File(arguments[0]).readText())
    val seen = page.`data`.map { message ->
        buildJsonObject {
            put("own", JsonPrimitive(ownField(message.content)))
            put("again", json.encodeToJsonElement<MessageContent>(message.content))
        }
    }
    println(json.encodeToString<JsonElement>(JsonArray(seen)))
}

// Without `else`: this compiles only if the sealed interface has exactly these variants.
fun ownField(content: MessageContent): String = when (content) {
    is MessageContent.TextWrapper -> content.value.text
    is MessageContent.ActionCardWrapper -> content.value.actions.first().label
    is MessageContent.ToolStatusWrapper -> content.value.tool
    is MessageContent.SystemWrapper -> content.value.text
    is MessageContent.LoadingWrapper -> content.value.type.value
    is MessageContent.DelegationWrapper -> content.value.taskPreview
    is MessageContent.ArtifactWrapper -> content.value.artifactId
    is MessageContent.WorkflowWrapper -> content.value.steps.first().name
    is MessageContent.UnknownWrapper -> content.value.type
}
